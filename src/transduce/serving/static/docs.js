// Draws openapi.json: a section for each route, with its fields and answers.

const element = (name, ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};

const table = (heads, rows) =>
  element(
    "table",
    element("thead", element("tr", ...heads.map((head) => element("th", head)))),
    element("tbody", ...rows.map((row) => element("tr", ...row.map((cell) => element("td", cell))))),
  );

function kind(schema, all) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map((one) => kind(one, all)).join(" or ");
  if (schema.type === "array") return `list of ${kind(schema.items, all)}`;
  return schema.enum ? schema.enum.map((one) => JSON.stringify(one)).join(" or ") : schema.type ?? "";
}

function fields(schema, all) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    element("code", name),
    kind(field, all) + (required.has(name) ? ", required" : ""),
    field.description ?? "",
  ]);
  return table(["field", "type", ""], rows);
}

function route(path, method, operation, all) {
  const section = element("section", element("h2", `${method.toUpperCase()} ${path}`));
  section.append(element("p", operation.description ?? operation.summary ?? ""));
  const body = operation.requestBody?.content;
  if (body) {
    section.append(element("h3", "Body"), element("p", Object.keys(body).join(", ")));
    section.append(fields(Object.values(body)[0].schema, all));
  }
  const answers = Object.entries(operation.responses).map(([status, answer]) => [
    status,
    Object.entries(answer.content ?? {}).map(([type, one]) => `${type}: ${kind(one.schema, all)}`).join("; "),
    answer.description ?? "",
  ]);
  section.append(element("h3", "Answers"), table(["status", "content", ""], answers));
  return section;
}

const described = await (await fetch("openapi.json")).json();
const schemas = described.components?.schemas ?? {};
const place = document.getElementById("routes");
for (const [path, methods] of Object.entries(described.paths)) {
  for (const [method, operation] of Object.entries(methods)) place.append(route(path, method, operation, schemas));
}
place.append(element("h2", "Shapes"));
for (const [name, schema] of Object.entries(schemas)) {
  place.append(element("section", element("h2", name), element("p", schema.description ?? ""), fields(schema, schemas)));
}
