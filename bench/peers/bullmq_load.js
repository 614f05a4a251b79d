// Load for BullMQ: jobs added (addBulk for a batch over 1), processed by workers with concurrency,
// and removed when completed, as a crawler's tasks would be. ioredis gathers what is sent in one
// turn of the event loop into one write, so concurrency is pipelining here.
'use strict';

const { createRequire } = require('module');
const { task, number, main } = require('./tally.js');
const { Queue, Worker } = createRequire(process.env.BULLMQ_HOME + '/')('bullmq');

main(__filename, async (options, tally, go) => {
  const connection = { host: '127.0.0.1', port: options.port };
  // `connections` producers, and as many jobs in work at a time: both ends of a closed loop.
  const concurrency = options.batch > 1 ? Math.max(100, options.connections) : options.connections;
  const queue = new Queue('bench', { connection });
  let finished;
  const end = new Promise((resolve) => { finished = resolve; });
  const worker = new Worker('bench', async (job) => {
    tally.came(number(job.data.taskid));
  }, {
    connection, concurrency, autorun: false,
    removeOnComplete: { count: 0 }, removeOnFail: { count: 0 },
  });
  worker.on('completed', () => { tally.settle(1); });
  worker.on('failed', (job, error) => { setImmediate(() => { throw error; }); });
  worker.on('error', (error) => { setImmediate(() => { throw error; }); });
  await queue.waitUntilReady();
  await worker.waitUntilReady();
  await go();
  worker.run();
  const poll = setInterval(() => { if (tally.done) { clearInterval(poll); finished(); } }, 20);

  // Closed loop: no more than about one batch a producer is ahead of the workers.
  let ahead = 0, wake = [];
  worker.on('completed', () => {
    if (--ahead < options.batch * options.connections && wake.length) wake.shift()();
  });
  const producer = async () => {
    for (;;) {
      const [first, last] = tally.take(options.batch);
      if (first >= last) return;
      ahead += last - first;
      if (options.batch === 1) {
        await queue.add('task', task(first));
      } else {
        const jobs = [];
        for (let i = first; i < last; ++i) jobs.push({ name: 'task', data: task(i) });
        await queue.addBulk(jobs);
      }
      if (ahead >= options.batch * options.connections && !tally.done) {
        await new Promise((resolve) => { wake.push(resolve); });
      }
    }
  };
  const producers = Array.from({ length: options.connections }, producer);
  await end;
  for (const one of wake) one();
  await Promise.all(producers);
});
