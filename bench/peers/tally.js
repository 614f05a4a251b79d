// The tasks of a run, counted by all threads of a load client in shared memory: which are
// submitted, which came, which came twice, and when the last one was settled.
'use strict';

const NEXT = 0, SETTLED = 1, TWICE = 2;

class Tally {
  constructor(options, shared) {
    this.tasks = options.tasks;
    this.shared = shared || {
      counts: new SharedArrayBuffer(16),
      end: new SharedArrayBuffer(8),
      seen: new SharedArrayBuffer(options.tasks),
    };
    this.counts = new Int32Array(this.shared.counts);
    this.end = new BigInt64Array(this.shared.end);
    this.seen = new Uint8Array(this.shared.seen);
  }

  // The numbers of the next tasks to submit, [first, end); empty when all are.
  take(n) {
    const first = Atomics.add(this.counts, NEXT, n);
    return [Math.min(first, this.tasks), Math.min(first + n, this.tasks)];
  }

  came(i) {
    if (Atomics.exchange(this.seen, i, 1) !== 0) Atomics.add(this.counts, TWICE, 1);
  }

  // True for the caller that settled the last task.
  settle(n) {
    if (Atomics.add(this.counts, SETTLED, n) + n < this.tasks) return false;
    Atomics.store(this.end, 0, process.hrtime.bigint());
    return true;
  }

  get done() { return Atomics.load(this.counts, SETTLED) >= this.tasks; }

  figures(begun) {
    let lost = 0;
    for (const one of this.seen) lost += one === 0 ? 1 : 0;
    return {
      seconds: Number(Atomics.load(this.end, 0) - begun) / 1e9,
      lost,
      twice: Atomics.load(this.counts, TWICE),
    };
  }
}

// The same members and sizes as `lycosa bench lifecycle` submits, about 300 bytes of JSON.
const filler = 'x'.repeat(200);
function task(i) {
  return {
    project: 'bench', taskid: `run-${i}`, url: `http://example.com/page/${i}`,
    schedule: { priority: 1 }, fetch: { method: 'GET' },
    process: { callback: 'index_page', save: filler },
  };
}

const number = (taskid) => Number(taskid.slice(4));

// Runs `work(options, tally, go)` in threads; `go` is a promise they wait on when connected, with
// which the clock starts. Prints the figures as one line of JSON.
function main(file, work) {
  const threads = require('worker_threads');
  if (!threads.isMainThread) {
    const { options, shared } = threads.workerData;
    const go = () => new Promise((resolve) => {
      threads.parentPort.once('message', resolve);
      threads.parentPort.postMessage('ready');
    });
    work(options, new Tally(options, shared), go).then(() => process.exit(0), (error) => {
      setImmediate(() => { throw error; });
    });
    return;
  }
  const options = JSON.parse(process.argv[2]);
  const tally = new Tally(options);
  let waiting = options.threads, running = options.threads, begun, cpu;
  const all = [];
  for (let i = 0; i < options.threads; ++i) {
    const connections = Math.floor(options.connections / options.threads)
      + (i < options.connections % options.threads ? 1 : 0);
    const one = new threads.Worker(file, {
      workerData: { options: { ...options, connections, index: i }, shared: tally.shared },
    });
    one.on('message', () => {
      if (--waiting > 0) return;
      cpu = process.cpuUsage();
      begun = process.hrtime.bigint();
      for (const each of all) each.postMessage('go');
    });
    one.on('error', (error) => { console.error(error); process.exit(1); });
    one.on('exit', () => {
      if (--running > 0) return;
      const spent = process.cpuUsage(cpu);
      console.log(JSON.stringify({ ...tally.figures(begun),
        client_cpu: (spent.user + spent.system) / 1e6 }));
    });
    all.push(one);
  }
}

module.exports = { task, number, main };
