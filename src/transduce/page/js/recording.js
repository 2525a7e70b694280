/** A recording as the server or a shared file hands it over; `transduce.inspection.payload` makes it. */

const FORMAT = 1;

export class Tensor {
  /** `packed`: {shape, data}, data being little-endian float32 in base64. */
  constructor(packed) {
    this.shape = packed.shape;
    this.packed = packed.data;
  }

  /** All values in row-major order; unpacked when first asked for. */
  get values() {
    if (!this.unpacked) {
      const bytes = Uint8Array.from(atob(this.packed), (c) => c.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      this.unpacked = Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    }
    return this.unpacked;
  }

  offset(index) {
    return index.reduce((at, i, axis) => {
      if (!(i >= 0 && i < this.shape[axis])) throw new RangeError(`index ${index} of shape ${this.shape}`);
      return at * this.shape[axis] + i;
    }, 0);
  }

  /** The number at an index, one for each axis. */
  at(...index) {
    if (index.length !== this.shape.length) throw new RangeError(`index ${index} of shape ${this.shape}`);
    return this.values[this.offset(index)];
  }

  /** The numbers along the last axis, at an index for each of the others. */
  row(...index) {
    const width = this.shape.at(-1);
    const start = index.length ? this.offset(index) * width : 0;
    return this.values.subarray(start, start + width);
  }
}

export class Recording {
  constructor(payload) {
    if (payload.format !== FORMAT) throw new Error(`recording of format ${payload.format}`);
    this.payload = payload;
    this.notes = payload.notes;
    this.unpacked = new Map();
  }

  get streams() { return this.notes.streams; }
  get vocabulary() { return this.notes.vocabulary; }
  get axes() { return this.notes.axes; }
  get tree() { return this.notes.tree; }
  get capabilities() { return this.notes.capabilities; }
  get model() { return this.notes.model; }
  get names() { return Object.keys(this.payload.tensors); }
  get source() { return this.streams.source?.text ?? ""; }
  get translation() { return this.streams.expected.text; }

  /** Where the model attends, such as `decoder.1.cross`. */
  get places() {
    return this.names
      .filter((name) => name.endsWith(".weights") && this.payload.tensors[name].shape.length === 3)
      .map((name) => name.slice(0, -".weights".length));
  }

  has(name) { return Object.hasOwn(this.payload.tensors, name); }

  /** The tensor of a tap; undefined where the model has no such tap. */
  tensor(name) {
    if (!this.has(name)) return undefined;
    return this.kept(name, () => this.payload.tensors[name]);
  }

  /** What Python computed for a view; undefined where it has nothing to show. */
  view(name) { return this.payload.views[name] ?? undefined; }

  /** A packed array anywhere in the payload by its path, such as `views.attention.maps.3.values`. */
  packed(path) {
    return this.kept(path, () => path.split(".").reduce((at, part) => at[part], this.payload));
  }

  kept(key, packed) {
    if (!this.unpacked.has(key)) this.unpacked.set(key, new Tensor(packed()));
    return this.unpacked.get(key);
  }
}
