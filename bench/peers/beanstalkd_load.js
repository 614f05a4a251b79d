// Load for beanstalkd over its text protocol: put, reserve-with-timeout, delete, in a closed loop
// on each connection. With a batch over 1 the commands of a batch are sent at once and then their
// answers read: the protocol has no batches, but it answers in order, so this is its fastest use.
'use strict';

const net = require('net');
const { task, number, main } = require('./tally.js');

class Connection {
  constructor(port) {
    this.rest = Buffer.alloc(0);
    this.replies = [];
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (more) => this.read(more));
    this.socket.on('error', (error) => { throw error; });
  }

  // Sends commands; their `n` answers, in order: [word, id, body].
  call(text, n) {
    return new Promise((resolve) => {
      this.wanted = n;
      this.resolve = resolve;
      this.socket.write(text);
    });
  }

  read(more) {
    const all = this.rest.length ? Buffer.concat([this.rest, more]) : more;
    let at = 0;
    for (;;) {
      const line = all.indexOf('\r\n', at);
      if (line < 0) break;
      const words = all.latin1Slice(at, line).split(' ');
      let next = line + 2;
      if (words[0] === 'RESERVED') {
        const body = next;
        next += Number(words[2]) + 2;
        if (next > all.length) break;
        words[2] = all.latin1Slice(body, next - 2);
      }
      this.replies.push(words);
      at = next;
    }
    this.rest = all.subarray(at);
    if (this.replies.length >= this.wanted) {
      const replies = this.replies;
      this.replies = [];
      this.resolve(replies);
    }
  }
}

function expect(replies, word) {
  for (const reply of replies) {
    if (reply[0] !== word) {
      throw new Error(`expected ${word}, got ${reply.join(' ').slice(0, 200)}`);
    }
  }
}

async function loop(options, tally, connection) {
  for (;;) {
    const [first, end] = tally.take(options.batch);
    let wanted = end - first;
    if (wanted > 0) {
      let puts = '';
      for (let i = first; i < end; ++i) {
        const body = JSON.stringify(task(i));
        puts += `put 1 0 600 ${body.length}\r\n${body}\r\n`;
      }
      expect(await connection.call(puts, wanted), 'INSERTED');
    } else {
      if (tally.done) return;
      wanted = 1;
    }
    // As many as were put: none waits for long, whoever gets which.
    const reserve = `reserve-with-timeout ${end > first ? 0 : 1}\r\n`;
    const got = (await connection.call(reserve.repeat(wanted), wanted))
      .filter((reply) => reply[0] !== 'TIMED_OUT');
    if (got.length === 0) continue;
    expect(got, 'RESERVED');
    for (const reply of got) tally.came(number(JSON.parse(reply[2]).taskid));
    expect(await connection.call(got.map((reply) => `delete ${reply[1]}\r\n`).join(''), got.length),
      'DELETED');
    tally.settle(got.length);
  }
}

main(__filename, async (options, tally, go) => {
  const connections = Array.from({ length: options.connections },
    () => new Connection(options.port));
  await Promise.all(connections.map((one) => one.call('use bench\r\nwatch bench\r\n', 2)));
  await go();
  await Promise.all(connections.map((one) => loop(options, tally, one)));
});
