// Numbers and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const dayClock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const yearClock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
});

export const count = (n) => whole.format(n);
export const amount = (n) => fine.format(n);

/** 1,234 → 1.2k: at most four characters and a letter. */
export function short(n) {
  if (n < 10) return fine.format(Math.round(n * 10) / 10);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (n >= unit * 0.9995) {
      const v = n / unit;
      return (v < 99.95 ? v.toFixed(1).replace(/\.0$/, "") : v.toFixed(0)) + letter;
    }
  return whole.format(n);
}

export function duration(seconds) {
  const s = Math.abs(seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 ? fine.format(Math.round(s * 10) / 10) : Math.round(s)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => s >= size);
  const [big, size] = units[first];
  const n = Math.floor(s / size);
  const [small, part] = units[Math.min(first + 1, 3)];
  const rest = Math.floor((s - n * size) / part);
  return rest && n < 10 ? `${n} ${big} ${rest} ${small}` : `${n} ${big}`;
}

export const now = () => Date.now() / 1000;

/** Local time of Unix seconds; the date when it is not today's. */
export function at(seconds) {
  const date = new Date(seconds * 1000);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return clock.format(date);
  if (date.getFullYear() === today.getFullYear()) return dayClock.format(date);
  return yearClock.format(date);
}

/** in 3 min, 2 h ago. */
export function fromNow(seconds) {
  const d = seconds - now();
  if (Math.abs(d) < 0.05) return "now";
  return d > 0 ? `in ${duration(d)}` : `${duration(d)} ago`;
}

export const when = (seconds) => `${at(seconds)} (${fromNow(seconds)})`;
export const seconds = (iso) => Date.parse(iso) / 1000;
