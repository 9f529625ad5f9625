// What is shown. Dragging answers from the scene; only knobs, a second crash and a real kill ask Python.

class Board {
  constructor(model, el) {
    Object.assign(this, { model, el, left: 0, unit: 0, wide: 0, playing: 0, picked: "", dragging: "", drawn: 0, kernel: new Kernel(() => this.draw()) });
    this.find = (selector) => el.querySelector(selector);
    this.take();
  }

  /** Take the scene that Python made; the crash stays in its window. */
  take() {
    const before = this.scene;
    this.scene = sceneOf(this.model.get("scene"));
    this.unit = 0;
    const at = this.model.get("at");
    const window = before?.stops[before.inside[at]]?.name;
    if (window && !Object.keys(stopNamed(this.scene, this.livesOf(this.scene.engines), at).taps).length) this.model.set("at", window);
  }

  engines() {
    const only = this.model.get("knobs").engine;
    return Object.keys(this.scene.engines).filter((name) => !only || name === only);
  }

  livesOf(branches) {
    return Object.fromEntries(this.engines().filter((name) => name in branches).map((name) => [name, branches[name].life]));
  }

  /** What can be crashed: the first processes, or (`second`) what follows their death, if Python has told it. */
  field(which) {
    const told = which === "second" ? this.seconds() : { branches: this.scene.engines, set: this.scene };
    return told && { lives: this.livesOf(told.branches), set: told.set, name: this.model.get(which === "second" ? "at_second" : "at") };
  }

  /** Where a crash can stop, of those that an engine that is shown has; found once for a scene and what is shown of it. */
  stops(which = "first") {
    const field = this.field(which);
    if (!field) return [];
    const engines = Object.keys(field.lives);
    const key = `${engines} ${this.scene.width}`;
    if (field.set.shownFor !== key) {
      const shown = field.set.stops.filter((stop) => engines.some((engine) => engine in stop.taps));
      field.set.shownFor = key;
      field.set.shown = shown.map((stop) => ({ ...stop, x: placeOfStop(this.scene, field.lives, stop) }));
    }
    return field.set.shown;
  }

  /** The stop at which the crash is; it may be one that no engine has. */
  stop(which = "first") {
    const field = this.field(which);
    return field && stopNamed(field.set, field.lives, field.name);
  }

  /** Its number; of a tap that is no stop of its own, that of the window that it is in; -1 for what no engine has. */
  number(which = "first") {
    const field = this.field(which);
    const around = field?.set.stops[field.set.inside[field.name]]?.name;
    const stops = this.stops(which);
    const exact = stops.findIndex((stop) => stop.name === field?.name);
    return exact >= 0 ? exact : stops.findIndex((stop) => stop.name === around);
  }

  /** Where on the run the crash is; where no engine has it, at the begin of its step. */
  place(which = "first") {
    const stop = this.stop(which);
    const x = placeOfStop(this.scene, this.field(which).lives, stop);
    if (x !== null) return x;
    const step = stop.name.split(" of ").at(-1).split(/[/#]/)[0];
    return this.scene.columns.find((column) => column.group === step)?.left ?? 0;
  }

  /** For each engine: where it dies, and what follows; with a second crash, where that strikes, and what follows it. */
  shown() {
    const [stop, second, killed] = [this.stop(), this.seconds(), this.killed()];
    return this.engines().map((engine) => {
      const branch = this.scene.engines[engine];
      const at = stop.taps[engine] ?? null;
      if (at === null) return { engine, life: branch.life, at, lacks: lacks(stop.name), outcome: null };
      const found = { engine, life: branch.life, at, tap: branch.life.taps[at], outcome: branch.after(at) };
      const next = second?.branches[engine];
      const again = this.stop("second");
      if (next && engine in again.taps) {
        const died = again.taps[engine];
        Object.assign(found, { between: next.life, betweenAt: died, outcome: next.after(died) });
      } else if (next) found.lacks = `${lacks(again.name)} after its first crash`;
      if (killed?.[engine]) found.outcome = outcomeOf(killed[engine], this.model.get("killed").pool, this.scene);
      return found;
    });
  }

  /** The successors, what follows their crash and their stops, once Python has told it for where the first crash is. */
  seconds() {
    const told = this.model.get("second");
    if (!this.model.get("knobs").second || !this.model.get("crashed") || told.for !== this.name()) return null;
    if (this.told !== told || this.toldIn !== this.scene) {
      Object.assign(this, { told, toldIn: this.scene });
      const branches = {};
      for (const [engine, found] of Object.entries(told.engines)) {
        const { life } = this.scene.engines[engine].after(this.stop().taps[engine]);
        branches[engine] = branchOf(found, life, told.pool, this.scene);
      }
      this.successors = { branches, set: stopsOf(told, Object.keys(told.engines)) };
    }
    return this.successors;
  }

  killed() {
    const killed = this.model.get("killed");
    return killed.for === `${this.name()} ${this.model.get("at_second")}` && this.model.get("crashed") ? killed.engines : null;
  }

  /** Which crash this is, in which setting: what an answer of Python must be for. */
  name() {
    const { policy, provider, drift, fault } = this.model.get("knobs");
    return `${policy}|${provider}|${drift}${fault ? `|${fault}` : ""} ${this.model.get("at")}`;
  }

  /** The effect that the crash is at, else the first one; empty where there is none. */
  effect() {
    const named = [this.stop(), ...this.scene.stops].find(({ name }) => name.includes(" of "));
    return named ? named.name.split(" of ")[1] : "";
  }

  /** Move a crash to a stop, by number. */
  move(number, which = "first") {
    const stop = this.stops(which)[number];
    if (!stop) return;
    this.model.set(which === "second" ? "at_second" : "at", stop.name);
    if (!this.dragging) {
      this.model.save_changes();
      this.reveal(stop.x);
    }
    this.draw();
  }

  /** Move a crash by so many stops, or to an end. Returns whether there is more in this direction. */
  step(by, which = "first") {
    const last = this.stops(which).length - 1;
    const at = this.number(which);
    const here = at >= 0 ? at : this.nearest(this.place(which), which) - (by > 0 ? 1 : 0);
    this.move(Math.min(Math.max(here + by, 0), last), which);
    return here + by < last;
  }

  /** The number of the stop nearest to a place on the run. */
  nearest(place, which = "first") {
    const stops = this.stops(which);
    let best = 0;
    stops.forEach(({ x }, n) => {
      if (Math.abs(x - place) < Math.abs(stops[best].x - place)) best = n;
    });
    return best;
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
      if (this.number() >= this.stops().length - 1) this.step(-Infinity);
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

  /** The whole run in view; `least` keeps it readable. */
  fit(least = 0) {
    layOut(this.scene, this.wide - GUTTER - MARGIN);
    this.unit = Math.max((this.wide - GUTTER - MARGIN) / this.scene.width, least);
    this.left = 0;
    this.clampView();
  }

  zoom(factor, x = (this.wide + GUTTER) / 2) {
    const place = this.left + (x - GUTTER) / this.unit;
    const whole = (this.wide - GUTTER - MARGIN) / this.scene.width;
    this.unit = Math.min(Math.max(this.unit * factor, whole), 5);
    this.left = place - (x - GUTTER) / this.unit;
    this.clampView();
    this.draw();
  }

  clampView() {
    this.most = Math.max(this.scene.width - (this.wide - GUTTER - MARGIN) / this.unit, 0);
    this.left = Math.min(Math.max(this.left, 0), this.most);
  }

  /** Pan so that a place on the run is in view. */
  reveal(place) {
    const x = this.x(place);
    if (x < GUTTER || x > this.wide - MARGIN) this.left = place - (this.wide - GUTTER) / this.unit / 2;
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
