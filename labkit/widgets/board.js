// What is shown. Dragging answers from the scene; only knobs, a second crash and a real kill ask Python.

class Board {
  constructor(model, el) {
    Object.assign(this, { model, el, left: 0, unit: 0, wide: 0, playing: 0, picked: "", dragging: "", drawn: 0, kernel: new Kernel(() => this.draw()) });
    this.find = (selector) => el.querySelector(selector);
    this.take();
  }

  /** Take the scene that Python made; the crash stays where it was, as far as the new runs go there. */
  take() {
    const tap = this.scene && this.shown()[0].tap;
    this.scene = sceneOf(this.model.get("scene"));
    const slot = slotOf(Object.values(this.scene.engines).map((each) => each.life), this.model.get("at"));
    this.unit = 0;
    this.slot = slot ?? (tap ? sameSlot(this.lives(), tap) : this.slots()[0]);
  }

  engines() {
    const only = this.model.get("knobs").engine;
    return Object.keys(this.scene.engines).filter((name) => !only || name === only);
  }

  lives() {
    return this.engines().map((name) => this.scene.engines[name].life);
  }

  /** Where a crash can stand; found once for a scene and what is shown of it. */
  slots() {
    const { engine } = this.model.get("knobs");
    if (this.known?.scene !== this.scene || this.known.engine !== engine) {
      this.known = { scene: this.scene, engine, slots: slotsOf(this.lives()) };
    }
    return this.known.slots;
  }

  /** For each engine: where it dies, and what follows; with a second crash, where that strikes, and what follows it. */
  shown() {
    const second = this.seconds();
    const killed = this.killed();
    return this.engines().map((engine) => {
      const branch = this.scene.engines[engine];
      const at = lastTap(branch.life, this.slot);
      const found = { engine, life: branch.life, at, tap: branch.life.taps[at], outcome: branch.after(at) };
      const next = second?.[engine];
      if (next?.life.taps.length) {
        const died = lastTap(next.life, this.slotSecond ?? 0);
        Object.assign(found, { between: next.life, betweenAt: died, outcome: next.after(died) });
      }
      if (killed?.[engine]) found.outcome = outcomeOf(killed[engine], this.model.get("killed").pool, this.scene);
      return found;
    });
  }

  /** The successors and what follows their crash, once Python has told it for where the first crash stands. */
  seconds() {
    const told = this.model.get("second");
    if (!this.model.get("knobs").second || !this.model.get("crashed") || told.for !== this.name()) return null;
    if (this.told !== told) {
      this.told = told;
      this.successors = {};
      for (const [engine, found] of Object.entries(told.engines)) {
        const branch = this.scene.engines[engine];
        const { life } = branch.after(lastTap(branch.life, this.slot));
        this.successors[engine] = branchOf(found, life, told.pool, this.scene);
      }
      const slots = slotsOf(Object.values(this.successors).map((each) => each.life));
      this.slotSecond = slotOf(Object.values(this.successors).map((each) => each.life), this.model.get("at_second")) ??
        nearestSlot(this.scene, slots, this.scene.slots[this.slotSecond ?? this.slot].x);
    }
    return this.successors;
  }

  killed() {
    const killed = this.model.get("killed");
    return killed.for === `${this.name()} ${this.model.get("at_second")}` && this.model.get("crashed") ? killed.engines : null;
  }

  /** Which crash this is, in which setting: what an answer of Python must be for. */
  name() {
    const { policy, provider, drift } = this.model.get("knobs");
    return `${policy}|${provider}|${drift} ${this.model.get("at")}`;
  }

  move(slot) {
    this.slot = slot;
    this.model.set("at", tapAt(this.lives(), slot)?.tap ?? this.lives()[0].taps[lastTap(this.lives()[0], slot)].tap);
    if (!this.dragging) this.model.save_changes();
    this.reveal(slot);
    this.draw();
  }

  moveSecond(slot) {
    const lives = Object.values(this.seconds() || {}).map((each) => each.life);
    this.slotSecond = slot;
    this.model.set("at_second", tapAt(lives, slot)?.tap ?? "");
    if (!this.dragging) this.model.save_changes();
    this.reveal(slot);
    this.draw();
  }

  /** Move a crash by so many taps, or to an end. */
  step(by, which = "first") {
    const second = which === "second";
    const slots = second ? slotsOf(Object.values(this.seconds() || {}).map((each) => each.life)) : this.slots();
    const at = slots.findLastIndex((slot) => slot <= (second ? this.slotSecond : this.slot));
    const to = slots[Math.min(Math.max(at + by, 0), slots.length - 1)];
    if (to === undefined) return false;
    second ? this.moveSecond(to) : this.move(to);
    return at + by < slots.length - 1;
  }

  crash(yes) {
    this.model.set("crashed", yes);
    this.model.save_changes();
    this.draw();
  }

  kill() {
    this.crash(true);
    this.kernel.ask();
    this.model.send({ do: "kill" });
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else {
      if (this.slot >= this.slots().at(-1)) this.step(-Infinity);
      this.playing = setInterval(() => this.step(1) || !this.playing || this.play(), 350);
    }
    const button = this.find("[data-do=play]");
    button.textContent = this.playing ? "❚❚ pause" : "▶ play";
    button.setAttribute("aria-label", button.textContent);
  }

  x(place) {
    return GUTTER + (place - this.left) * this.unit;
  }

  middle(column) {
    const { left, wide } = this.scene.columns[column];
    return this.x(left + wide / 2);
  }

  /** The whole run in view; `least` keeps columns readable. */
  fit(least = 0) {
    this.unit = Math.max((this.wide - GUTTER - 12) / this.scene.width, least);
    this.left = 0;
    this.clampView();
  }

  zoom(factor, x = (this.wide + GUTTER) / 2) {
    const place = this.left + (x - GUTTER) / this.unit;
    const whole = (this.wide - GUTTER - 12) / this.scene.width;
    this.unit = Math.min(Math.max(this.unit * factor, whole), 160);
    this.left = place - (x - GUTTER) / this.unit;
    this.clampView();
    this.draw();
  }

  clampView() {
    this.most = Math.max(this.scene.width - (this.wide - GUTTER - 12) / this.unit, 0);
    this.left = Math.min(Math.max(this.left, 0), this.most);
  }

  /** Pan so that a crash is in view. */
  reveal(slot) {
    const x = this.x(this.scene.slots[slot].x);
    if (x < GUTTER + 30 || x > this.wide - 60) this.left = this.scene.slots[slot].x - (this.wide - GUTTER) / this.unit / 2;
    this.clampView();
  }

  draw() {
    if (this.drawn) return;
    this.drawn = requestAnimationFrame(() => {
      this.drawn = 0;
      if (this.el.isConnected) paint(this);
    });
  }
}
