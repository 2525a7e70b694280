/** A recording as the file that `Recording.save` writes: tensors as numpy has them, and the notes as JSON, in a zip. */

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function crc(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

export function npz(recording) {
  const encode = (text) => new TextEncoder().encode(text);
  const files = [["recording.json", encode(JSON.stringify(recording.notes))]];
  for (const name of recording.names) files.push([`${name}.npy`, npy(recording.payload.tensors[name])]);
  return zip(files.map(([name, bytes]) => [encode(name), bytes]));
}

/** Version 1.0 of numpy's format, the data beginning at a multiple of 64 bytes. */
function npy({ shape, data }) {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const dict = `{'descr': '<f4', 'fortran_order': False, 'shape': (${sizes}), }`;
  const header = dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11) + "\n";
  const values = atob(data);
  const bytes = new Uint8Array(10 + header.length + values.length);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  for (let i = 0; i < header.length; i += 1) bytes[10 + i] = header.charCodeAt(i);
  for (let i = 0; i < values.length; i += 1) bytes[10 + header.length + i] = values.charCodeAt(i);
  return bytes;
}

/** Files stored as they are, each dated 1980-01-01; names are UTF-8. */
function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const common = fields([20, 2], [0x800, 2], [0, 2], [0, 2], [33, 2], [crc(bytes), 4], [bytes.length, 4], [bytes.length, 4], [name.length, 2], [0, 2]);
    parts.push(fields([0x04034b50, 4]), common, name, bytes);
    directory.push(fields([0x02014b50, 4], [20, 2]), common, fields([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), name);
    offset += 4 + common.length + name.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = fields([0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: "application/zip" });
}

/** Numbers of so many bytes each, little-endian. */
function fields(...list) {
  return Uint8Array.from(list.flatMap(([value, size]) => Array.from({ length: size }, (_, i) => Math.floor(value / 2 ** (8 * i)) & 255)));
}
