"use strict";
/* A whole world, as `explore --export` writes it: what the page would ask a server for. */
const wholeWorld = (() => {
  const data = JSON.parse(document.getElementById("whole").textContent);
  /* Each value stands once in the table, its parts before it. */
  const values = [];
  for (const entry of data.values) {
    if (!Array.isArray(entry)) {
      values.push(entry);
      continue;
    }
    const parts = entry.slice(1).map((place) => values[place]);
    const names = entry[0] === 0 ? null : data.shapes[entry[0] - 1];
    values.push(names ? Object.fromEntries(names.map((name, at) => [name, parts[at]])) : parts);
  }
  const place = ([moment, steps, targets]) => ({ moment: values[moment], targets,
    steps: steps.map((step) => values[step]) });
  const at = (number) => place(data.states[number]);

  /* The state after so many ticks, with what leads beyond the bounds of the search marked. */
  function shown(of, elapsed) {
    const next = of.moment.next.map((next, place) => of.targets[place] === null
      ? { ...next, beyond: true } : next);
    return { ...of.moment, next, elapsed: data.timed ? elapsed : null };
  }
  function walk(path, property) {
    const [first, ...places] = path.split("/").slice(1);
    if (first !== "0") throw nowhere("there is one initial state, 0");
    let of = at(0), elapsed = 0;
    const [moments, steps] = [[shown(of, 0)], []];
    places.forEach((place, index) => {
      const step = /^\d+$/.test(place) ? of.steps[place] : undefined;
      if (!step) throw nowhere("step " + (index + 1) + ": nothing is at place '" + place + "'");
      if (of.targets[place] === null) {
        throw nowhere("step " + (index + 1) + " leads beyond the bounds of the search");
      }
      of = at(of.targets[place]);
      elapsed += step.kind === "tick" ? 1 : 0;
      steps.push(step);
      moments.push(shown(of, elapsed));
    });
    const shows = showsOf(property);
    const followed = follow(moments, steps);
    const story = steps.map((step, at) => step.told + followed.stale[at]);
    const { title, scenario, rules, budgets, properties } = data;
    return { title, scenario, rules, budgets, properties, shows, story, moments,
      places: places.map(Number), trace: "", ...picture(moments, steps, followed.arrows, shows) };
  }
  function nowhere(text) {
    return Object.assign(new Error(text), { nowhere: true });
  }
  function showsOf(property) {
    const row = data.verdicts.properties.find((row) => row.name === property);
    return row ? { property, formula: row.formula, kind: row.kind,
      cycle_after: row.cycle_after } : null;
  }

  /* ---- messages: where each was sent, what became of it, and whether it was stale ---- */
  function follow(moments, steps) {
    const arrows = [], stale = [];
    const ids = moments[0].processes.map((process) => process.id);
    const lives = new Map(ids.map((id) => [id, { roles: 0, crashes: 0 }]));
    let open = moments[0].in_flight.map((message) => begin(message, -1));
    function begin({ from, to, label }, row) {
      const arrow = { from, to, label, row, end: "flies", at: null, stale: false,
        ...lives.get(from) };
      arrows.push(arrow);
      return arrow;
    }
    function end(arrow, how, row) {
      open = open.filter((other) => other !== arrow);
      Object.assign(arrow, { end: how, at: row });
    }
    const like = (one) => (other) => other.from === one.from && other.to === one.to
      && (other.now ?? other.label) === one.label;
    steps.forEach((step, row) => {
      const [before, after] = [moments[row], moments[row + 1]];
      let why = "";
      if (step.message) {
        const arrow = open.find(like(step.message)) || begin(step.message, row - 1);
        if (step.kind === "lose") end(arrow, "lost", row);
        if (step.kind === "duplicate") {
          open.push({ ...arrow });
          arrows.push(open.at(-1));
        }
        if (step.kind === "deliver") {
          const up = before.processes.find((process) => process.id === arrow.to).up;
          end(arrow, up ? "arrives" : "down", row);
          why = grown(arrow, before);
          arrow.stale = why !== "";
        }
      }
      stale.push(why);
      after.processes.forEach((process, at) => {
        const was = before.processes[at];
        lives.get(process.id).roles += was.role === process.role ? 0 : 1;
        lives.get(process.id).crashes += was.up && !process.up ? 1 : 0;
      });
      for (const message of step.sent) {
        if (message.fate === "merged") continue;
        const arrow = begin(message, row);
        if (message.fate === "cut") Object.assign(arrow, { end: "barred", at: row });
        else open.push(arrow);
      }
      // A symmetry may call what is in flight otherwise; what is not in flight any more is lost.
      const names = [...step.renamed];
      for (const arrow of open) {
        const at = names.findIndex((one) => like({ ...one, label: one.was })(arrow));
        if (at >= 0) arrow.now = names.splice(at, 1)[0].is;
      }
      const left = [...after.in_flight];
      for (const arrow of [...open]) {
        const at = left.findIndex((message) => like(message)(arrow));
        if (at >= 0) left.splice(at, 1);
        else end(arrow, "lost", row);
      }
    });
    /* What has become of the sender since, if it crashed or changed its role. */
    function grown(arrow, before) {
      const now = lives.get(arrow.from);
      const sender = before.processes.find((process) => process.id === arrow.from);
      if (now.crashes !== arrow.crashes) {
        return " It was stale: " + sender.name + " has crashed" + (sender.up ? " and recovered" : "")
          + " since.";
      }
      return now.roles === arrow.roles ? ""
        : " It was stale: " + sender.name + " is " + sender.role.replaceAll(/[-_]/g, " ") + " by now.";
    }
    return { arrows, stale };
  }

  /* ---- the sequence diagram: a lifeline for each process, time downwards ---- */
  const INK = { plain: "#1f2933", faint: "#5f6c7b", line: "#78909c", dead: "#c9a0a0",
    message: "#1d4f91", stale: "#8e44ad", timer: "#8a5a00", good: "#1e6b3a", bad: "#b91c1c",
    cycle: "#6b21a8" };
  const [LEFT, TOP, ROW, FOOT] = [56, 78, 36, 20];

  function picture(moments, steps, arrows, shows) {
    const processes = moments[0].processes;
    const longest = Math.max(8, ...arrows.map((arrow) => arrow.label.length));
    const column = Math.min(260, Math.max(130, longest * 7 + 30));
    const x = (id) => LEFT + column * (processes.findIndex((one) => one.id === id) + .4);
    const y = (row) => TOP + ROW * (row + 1);
    const flying = arrows.filter((arrow) => arrow.end === "flies");
    const end = y(steps.length) - ROW / 2;
    const title = data.title + (shows ? ": " + shows.property + " is violated" : "");
    const [width, height] = [Math.max(LEFT + column * processes.length + 30, title.length * 9 + 20),
      end + FOOT * (flying.length + 1) + 14];
    const out = [];
    const text = (at, down, words, ink, kind, more = "") => out.push("<text class=\"bw-" + kind
      + "\" x=\"" + at + "\" y=\"" + down + "\" fill=\"" + ink + "\" paint-order=\"stroke\" "
      + "stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\"" + more + ">"
      + escaped(words) + "</text>");
    const line = (from, to, ink, more = "") => out.push("<line x1=\"" + from[0] + "\" y1=\""
      + from[1] + "\" x2=\"" + to[0] + "\" y2=\"" + to[1] + "\" stroke=\"" + ink + "\"" + more
      + "/>");
    text(10, 20, title, INK.plain, "title", " font-size=\"14\" font-weight=\"bold\"");
    lifelines();
    arrows.forEach((arrow) => sent(arrow));
    steps.forEach((step, row) => stepOf(step, row));
    round();
    flying.forEach((arrow, at) => draws(arrow, end + FOOT * (at + 1), " stroke-dasharray=\"5 4\""));
    const begin = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bw-diagram\" role=\"img\" "
      + "width=\"" + width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height
      + "\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" font-size=\"11\"><title>"
      + escaped(title) + "</title><rect class=\"bw-paper\" width=\"" + width + "\" height=\""
      + height + "\" fill=\"#ffffff\"/>";
    return { svg: begin + out.join("\n") + "</svg>\n",
      rows: steps.map((_, row) => [y(row) - 16, y(row) + 16]) };

    function lifelines() {
      processes.forEach((process, at) => {
        const right = x(process.id);
        text(right, 44, process.name.replace(/^the /, ""), INK.plain, "id",
          " text-anchor=\"middle\" font-size=\"12\" font-weight=\"bold\"");
        text(right, 60, belief(process), ink(process), "role", " text-anchor=\"middle\"");
        let from = TOP - 10;
        moments.forEach((moment, step) => {
          const one = moment.processes[at];
          const to = step === steps.length ? end : y(step);
          const lasts = step < steps.length && ink(one) === ink(moments[step + 1].processes[at]);
          if (lasts) return;
          const kind = !one.up ? " stroke-width=\"2\" stroke-dasharray=\"3 4\""
            : leads(one) ? " stroke-width=\"5\"" : " stroke-width=\"2\"";
          line([right, from], [right, to], ink(one), kind);
          from = to;
        });
      });
    }
    function sent(arrow) {
      if (arrow.end === "flies") return;
      draws(arrow, arrow.end === "barred" ? y(arrow.at) + 12 : y(arrow.at), "");
    }
    /* An arrow from where a message was sent to its end; what is lost ends in a cross. */
    function draws(arrow, down, dashes) {
      const fails = ["lost", "barred", "down"].includes(arrow.end);
      const ink = fails ? INK.bad : arrow.stale ? INK.stale : INK.message;
      const from = [x(arrow.from), arrow.row < 0 ? TOP - 10 : y(arrow.row) + 4];
      const whole = x(arrow.to) - from[0];
      const share = ["lost", "barred"].includes(arrow.end) ? .6 : 1;
      const to = [from[0] + whole * share, down];
      line(from, to, ink, " stroke-width=\"1.5\"" + dashes);
      if (fails) text(to[0], to[1] + 4, "✗", ink, "lost", " text-anchor=\"middle\" font-size=\"13\"");
      else head(from, to, ink);
      const middle = to[0] - Math.sign(whole) * Math.min(Math.abs(whole * share), column) * .36;
      const up = (to[0] - middle) / (to[0] - from[0] || 1) * (to[1] - from[1]);
      text(middle, to[1] - up - 4, arrow.label, ink, "label", " text-anchor=\"middle\"");
    }
    function head([fromX, fromY], [toX, toY], ink) {
      const angle = Math.atan2(toY - fromY, toX - fromX);
      const point = (turn) => [toX - 9 * Math.cos(angle + turn), toY - 9 * Math.sin(angle + turn)]
        .map((number) => number.toFixed(1)).join(",");
      out.push("<polygon points=\"" + toX + "," + toY + " " + point(.4) + " " + point(-.4)
        + "\" fill=\"" + ink + "\"/>");
    }
    function stepOf(step, row) {
      text(10, y(row) + 4, String(row + 1), INK.faint, "step");
      const bad = ["crash", "cut"].includes(step.kind);
      const ink = bad ? INK.bad : ["expire", "choose"].includes(step.kind) ? INK.timer : INK.plain;
      if (step.link) {
        const [from, to] = step.link.map(x);
        line([from, y(row)], [to, y(row)], ink, " stroke-dasharray=\"2 3\"");
        text((from + to) / 2, y(row) - 4, "the link " + step.mark, ink, "event",
          " text-anchor=\"middle\"");
      } else if (step.mark && step.node !== null) {
        text(x(step.node) - 4, y(row) + 4, bad ? "✗" : "●", ink, "event");
        text(x(step.node) + 9, y(row) - 5, step.mark, ink, "event");
      } else if (step.mark) {
        text(LEFT, y(row) + 4, step.mark, INK.faint, "event");
      }
      const [before, after] = [moments[row].processes, moments[row + 1].processes];
      after.forEach((process, at) => {
        const [was, is] = [belief(before[at]), belief(process)];
        if (was !== is && process.up) {
          // Where no arrow begins or ends.
          const others = [...step.sent.map((arrow) => arrow.to),
            ...step.message ? [step.message.from] : []];
          const left = others.some((id) => x(id) > x(process.id));
          text(x(process.id) + (left ? -9 : 9), y(row) + 12, "→ " + is, inkOf(process), "role",
            left ? " text-anchor=\"end\"" : "");
        }
      });
    }
    /* What repeats for ever. */
    function round() {
      const after = shows ? shows.cycle_after : null;
      if (after === null || after === undefined || after >= steps.length) return;
      const [from, to] = [y(after) - 14, y(steps.length - 1) + 14];
      line([4, from], [4, to], INK.cycle, " stroke-width=\"3\"");
      text(10, height - 8, "from here again from step " + (after + 1), INK.cycle, "cycle");
    }
  }
  function leads(process) { return process.up && process.leader === process.id; }
  function ink(process) {
    return !process.up ? INK.dead : leads(process) ? INK.good : INK.line;
  }
  function inkOf(process) { return leads(process) ? INK.good : INK.faint; }
  function belief(process) {
    const role = process.role.replaceAll(/[-_]/g, " ");
    if (!process.up) return "down";
    if (leads(process)) return role === "leader" ? "leader" : role + ", leads";
    return process.leader === null ? role : role + " of P" + process.leader;
  }
  function escaped(words) {
    return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  return { walk, verdicts: () => data.verdicts, renames: data.renames };
})();
