// Chart.js, loaded when the first chart is drawn, in the colours of the page.

let library = null;

function load() {
  library ??= import("/assets/chart.min.js").then(() => globalThis.Chart);
  return library;
}

const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function look(Chart) {
  Chart.defaults.color = colour("--muted");
  Chart.defaults.borderColor = colour("--line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 11;
}

/** What was handled a second lately, on `canvas`: update(handled). Ends with `signal`. */
export async function throughputChart(canvas, signal) {
  const Chart = await load();
  if (signal.aborted) return { update() {} };
  look(Chart);
  const chart = new Chart(canvas, {
    type: "line",
    data: { labels: [], datasets: [{
      label: "handled a second", data: [], borderWidth: 1.6, pointRadius: 0, pointHitRadius: 8,
      tension: 0.25, fill: true,
    }] },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      plugins: { legend: { display: false } },
      scales: {
        x: {
          grid: { display: false },
          ticks: { maxTicksLimit: 6, maxRotation: 0, autoSkipPadding: 16 },
        },
        y: { beginAtZero: true, suggestedMax: 1, ticks: { maxTicksLimit: 4 } },
      },
    },
  });
  const paint = () => {
    look(Chart);
    const [line] = chart.data.datasets;
    chart.options.scales.x.ticks.maxTicksLimit = canvas.clientWidth < 420 ? 4 : 6;
    line.borderColor = colour("--accent");
    line.backgroundColor = colour("--accent-faint");
    chart.options.scales.x.ticks.color = colour("--muted");
    chart.options.scales.y.ticks.color = colour("--muted");
    chart.options.scales.y.grid = { color: colour("--line") };
    chart.update("none");
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint, { signal });
  signal.addEventListener("abort", () => chart.destroy(), { once: true });
  paint();
  let shown = "";
  return {
    update(handled) {
      const key = `${handled.until}${handled.counts}`;
      if (key === shown) return;
      shown = key;
      const n = handled.counts.length;
      chart.data.labels = handled.counts.map((_, i) =>
        new Date((handled.until - (n - i) * handled.step) * 1000).toLocaleTimeString("en-GB"));
      chart.data.datasets[0].data = handled.counts.map((c) => c / handled.step);
      canvas.setAttribute("aria-label", "Tasks handled a second in the last five minutes, most "
        + `${(Math.max(...handled.counts) / handled.step).toFixed(1)}`);
      chart.update("none");
    },
  };
}

export function chartBox(title) {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title);
  const box = document.createElement("div");
  box.className = "chart";
  box.append(canvas);
  return { node: box, canvas };
}
