/** What went wrong, in the page's language, and when to try again. */

import { h } from "../draw.js";

/** Statuses with words of their own; 0 is a server that doesn't answer. */
const KNOWN = [0, 401, 403, 413, 422, 429, 500, 503];

export class Problem {
  constructor(box, clock, t) {
    Object.assign(this, { box, clock, t, error: null, timer: null });
  }

  tell(error) {
    this.error = error;
    this.changed();
    if (error.retryAfter) this.countDown(Number(error.retryAfter));
  }

  clear() {
    this.error = null;
    clearInterval(this.timer);
    this.box.hidden = this.clock.hidden = true;
  }

  changed() {
    if (!this.error) return;
    const { status, message } = this.error;
    // The server's own words are English, and say more.
    const more = status && message ? [" ", h("span", { class: "quiet", lang: "en" }, message)] : [];
    this.box.replaceChildren(this.t(KNOWN.includes(status) ? `translate_error_${status}` : "translate_error"), ...more);
    this.box.hidden = false;
  }

  /** The clock is for the eye: nobody has each second of it read out. */
  countDown(seconds) {
    const until = performance.now() + seconds * 1000;
    const tick = () => {
      const left = Math.ceil((until - performance.now()) / 1000);
      this.clock.textContent = left > 0 ? this.t("translate_again_in", { seconds: left }) : this.t("translate_again_now");
      if (left <= 0) clearInterval(this.timer);
    };
    clearInterval(this.timer);
    this.timer = setInterval(tick, 500);
    this.clock.hidden = false;
    tick();
  }
}
