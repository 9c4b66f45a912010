import { expect, test } from 'vitest';
import { createMessageSplitter } from '#workers/triggers/listeners/sources/syslog.ts';
import { readSyslog } from '#workers/triggers/listeners/sources/syslog-message.ts';

test('structured data called __proto__ is data', () => {
  const message = readSyslog('<34>1 - - - - - [__proto__ a="1"] text');

  expect(JSON.stringify(message.structuredData)).toBe('{"__proto__":{"a":"1"}}');
});

test.each([
  // The examples of RFC 5424 and RFC 3164.
  [
    "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \uFEFF'su root' failed for lonvick on /dev/pts/8",
    {
      facility: 'auth',
      severity: 'critical',
      hostname: 'mymachine.example.com',
      appName: 'su',
      processID: null,
      messageID: 'ID47',
      sentAt: '2003-10-11T22:14:15.003Z',
      structuredData: {},
      message: "'su root' failed for lonvick on /dev/pts/8",
    },
  ],
  [
    '<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 evntslog 8710 - [exampleSDID@32473 iut="3" eventSource="A\\"p\\]p"][x@1 y="z"] An event',
    {
      facility: 'local4',
      severity: 'notice',
      hostname: '192.0.2.1',
      processID: '8710',
      sentAt: '2003-08-24T12:14:15.000Z',
      structuredData: { 'exampleSDID@32473': { iut: '3', eventSource: 'A"p]p' }, 'x@1': { y: 'z' } },
      message: 'An event',
    },
  ],
  [
    '<13>Feb  5 17:32:18 10.0.0.99 cron[12]: Use the BFG!',
    {
      facility: 'user',
      severity: 'notice',
      hostname: '10.0.0.99',
      appName: 'cron',
      processID: '12',
      message: 'Use the BFG!',
    },
  ],
  ['<0>kernel is gone', { facility: 'kern', severity: 'emergency', message: 'kernel is gone' }],
  ['no priority', { facility: 'user', severity: 'notice', hostname: null, message: 'no priority' }],
  ['<999>too much', { facility: 'user', severity: 'notice', message: 'too much' }],
])('reads %s', (text, expected) => {
  expect(readSyslog(text)).toMatchObject(expected);
});

test('a stream is split by lengths and by lines, wherever it was cut', () => {
  const stream = Buffer.from('11 <13>a\nb cdef<14>line\n\n8 <15>last<16>end\n');
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const split: string[] = [];
    const feed = createMessageSplitter((bytes) => void split.push(String(bytes)));
    expect([feed(stream.subarray(0, cut)), feed(stream.subarray(cut))]).toEqual([true, true]);
    expect(split).toEqual(['<13>a\nb cde', 'f<14>line', '<15>last', '<16>end']);
  }
  const feed = createMessageSplitter(() => undefined);
  expect(feed(Buffer.alloc(70_000, 'x'))).toBe(false);
  expect(createMessageSplitter(() => undefined)(Buffer.from('99999 <13>a'))).toBe(false);
});
