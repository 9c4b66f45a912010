import { spawn } from 'node:child_process';
import { createHmac, hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { Permit, withReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { createSandbox, type Sandbox, type SandboxRequest } from '#workers/sandbox/pool.ts';

const logger = createLogger({ level: 'silent' });
const never = new AbortController().signal;
const maxOutputBytes = 1024 * 1024;

const shared = createSandbox({ processes: 2, maxOutputBytes }, logger);
afterAll(() => shared[Symbol.asyncDispose]());
/** For tests in which calls meet in one host and none ends it: starting one takes more than all of their calls. */
const single = createSandbox({ processes: 1, maxOutputBytes }, logger);
afterAll(() => single[Symbol.asyncDispose]());

type Options = Partial<SandboxRequest> & { sandbox?: Sandbox; signal?: AbortSignal };

function run(code: string, { sandbox = shared, signal = never, ...request }: Options = {}): Promise<Json> {
  return sandbox.run({ tenantID: 'tenant', code, args: { ctx: {} }, timeoutMs: 5000, ...request }, signal);
}

/** The error of the code; throws if the code does not fail. */
async function failureOf(code: string, options: Options = {}): Promise<AppError> {
  const ending = await run(code, options).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in ending && ending.error instanceof AppError) return ending.error;
  throw new Error(`expected an AppError, got ${JSON.stringify(ending)}`);
}

/** Host processes of this process, or of another one. */
function children(parent: number | undefined = process.pid): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isHost = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sandbox/host.ts');
        return isHost && Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) === parent;
      } catch {
        return false; // The process ended between the two reads.
      }
    });
}

function newcomer(others: Set<number>): number {
  const pid = children().find((each) => !others.has(each));
  if (pid === undefined) throw new Error('no host was started');
  return pid;
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true; // It has been waited for, too.
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now();
  const value = await work();
  return { value, ms: performance.now() - start };
}

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 30_000; !holds(); await sleep(5)) {
    if (performance.now() > deadline) throw new Error('it did not come true within 30 s');
  }
}

describe('the return value of code', () => {
  test.each<[string, Json]>([
    ['return 1', 1],
    ['return ctx.a.b', 'deep'],
    ['return await Promise.resolve([1, "ä", null, true])', [1, 'ä', null, true]],
    ['return', null],
    ['', null],
    ['return { kept: 1, dropped: undefined, gap: [undefined] }', { kept: 1, gap: [null] }],
    ['return new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['return { at: new Date(0) }', { at: '1970-01-01T00:00:00.000Z' }],
    ['return { toJSON: () => ({ mine: true }) }', { mine: true }],
    ['return 0 / 0', null],
    ['const same = { a: 1 }; return [same, same, [same]]', [{ a: 1 }, { a: 1 }, [{ a: 1 }]]],
    ['return 1 // a comment at the end', 1],
    ['"use strict"; return this === undefined', true],
    ['return JSON.parse(\'{"__proto__":{"own":1}}\')', JSON.parse('{"__proto__":{"own":1}}')],
    ['return Intl.NumberFormat("de").format(1234.5) + new Date(0).getHours()', '1.234,50'],
    ['return Temporal.PlainDate.from("2026-01-31").add({ months: 1 }).toString()', '2026-02-28'],
  ])('%s', async (code, expected) => {
    expect(await run(code, { args: { ctx: { a: { b: 'deep' } } } })).toEqual(expected);
  });

  test.each([
    ['crypto.createHash("sha256").update("a").update("b").digest("hex")', hash('sha256', 'ab')],
    [
      'crypto.createHmac("sha1", "k").update("ä").digest("base64")',
      createHmac('sha1', 'k').update('ä').digest('base64'),
    ],
    [
      `crypto.subtle.importKey("raw", new TextEncoder().encode("k"), { name: "HMAC", hash: "SHA-512" }, false, ["sign"])
        .then((key) => crypto.subtle.sign("HMAC", key, new Uint8Array([1])))
        .then((signature) => [...new Uint8Array(signature)])`,
      [
        ...createHmac('sha512', 'k')
          .update(new Uint8Array([1]))
          .digest(),
      ],
    ],
    ['crypto.subtle.digest("SHA-384", new ArrayBuffer(2)).then((digest) => digest.byteLength)', 48],
    [
      `crypto.subtle.importKey("raw", new Uint8Array([1]), { name: "HMAC", hash: { name: "SHA-256" } }, false, ["verify"])
        .then(async (key) => {
          const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, new Uint8Array([2])));
          const verify = (given, data) => crypto.subtle.verify("HMAC", key, given, new Uint8Array([data]));
          return [await verify(signature, 2), await verify(signature, 3), await verify(signature.slice(1), 2)];
        })`,
      [true, false, false],
    ],
    ['["ab", "ac", "abc"].map((text) => crypto.timingSafeEqual("ab", text))', [true, false, false]],
    ['crypto.getRandomValues(new Uint8Array(64)).some((byte) => byte !== 0)', true],
    ['crypto.randomUUID() === crypto.randomUUID()', false],
    ['/^[0-9a-f-]{36}$/.test(crypto.randomUUID()) && crypto.getRandomValues(new Uint8Array(3)).length', 3],
    ['[btoa("a\\xff"), atob(" Yf8 ").charCodeAt(1)]', ['Yf8=', 255]],
    ['[...new TextEncoder().encode("ä\\ud800")]', [195, 164, 239, 191, 189]],
    ['new TextDecoder("windows-1252").decode(new Uint8Array([0xe4, 0x80]))', 'ä€'],
    ['[...new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 97]))].length', 2],
    ['new TextDecoder().decode(new Uint8Array([239, 187, 191, 97]))', 'a'],
    [
      '(() => { const to = new Uint8Array(4); return [new TextEncoder().encodeInto("aä€", to), [...to]]; })()',
      [{ read: 2, written: 3 }, [97, 195, 164, 0]],
    ],
    [
      `(() => {
        const parts = { set: new Set([{ a: 1 }]), pattern: /a/gi, error: new RangeError('no'), view: new DataView(new ArrayBuffer(3), 1) };
        const { set, pattern, error, view } = structuredClone(parts);
        return [[...set], [...set][0] === [...parts.set][0], String(pattern), error.name, error.message, view.byteLength];
      })()`,
      [[{ a: 1 }], false, '/a/gi', 'RangeError', 'no', 2],
    ],
    ['structuredClone({ at: new Date(0), list: [new Map([[1, { a: 1 }]])] }).list[0].get(1)', { a: 1 }],
    [
      '(() => { const own = {}; own.own = own; const copy = structuredClone(own); return copy !== own && copy.own === copy; })()',
      true,
    ],
  ])('%s', async (code, expected) => {
    expect(await run(`return ${code}`)).toEqual(expected);
  });

  test('URLs are those of the platform', async () => {
    const change = `
      const url = new URL('../x?a=1&b=ä#h', 'https://u:p@EX.ä.com:443/a/b/');
      url.searchParams.append('c d', "é+'~");
      url.searchParams.set('a', '2');
      url.pathname = '/q r';
      url.port = '8443';
      const { href, origin, host, search, hash, username } = url;
      url.search = '?z=%ff&y';
      const query = new URLSearchParams([['b', '1'], ['a', '2'], ['b', '3']]);
      query.delete('b', '1');
      query.sort();
      return [href, origin, host, search, hash, username, [...url.searchParams], JSON.stringify(url), query.toString(),
        query.size, URL.canParse('x'), URL.parse('x'), url instanceof URL];`;

    // Safe: the constructor of an async function, which has no name of its own.
    const AsyncFunction = (async () => undefined).constructor as new (code: string) => () => Promise<Json>;
    expect(await run(change)).toEqual(await new AsyncFunction(change)());
    expect(await failureOf('return new URL("no url")')).toMatchObject({
      message: expect.stringContaining('Invalid URL'),
    });
  });

  test.each([
    ['crypto.createHash("sha3")', 'not supported'],
    ['crypto.createHash("sha1").update({})', 'expected bytes'],
    ['crypto.getRandomValues(new Uint8Array(65537))', '65,536'],
    ['new TextDecoder("klingon")', 'not known'],
    ['new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))', 'not utf-8'],
    ['atob("a")', 'not base64'],
    ['btoa("€")', 'U+00FF'],
    ['structuredClone({ f() {} })', 'cannot be cloned'],
  ])('%s fails with a reason', async (code, reason) => {
    expect((await failureOf(`return ${code}`)).message).toContain(reason);
  });

  test('code that keeps asking the host is stopped at its time, and the host goes on', async () => {
    const endless = 'for (;;) crypto.createHash("sha256").update("a").digest()';
    expect(await failureOf(endless, { sandbox: single, timeoutMs: 200 })).toMatchObject({ code: 'NODE_TIMEOUT' });
    expect(await run('return crypto.createHash("sha256").update("a").digest("hex")', { sandbox: single })).toBe(
      hash('sha256', 'a'),
    );
  });

  test('arguments are passed by name, as copies', async () => {
    const event = { list: [1] };

    const value = await run('event.list.push(limit); return event', { args: { event, limit: 2 } });

    expect(value).toEqual({ list: [1, 2] });
    expect(event).toEqual({ list: [1] });
  });

  test.each([
    ['return () => 1', 'it is a function'],
    ['return Symbol("s")', 'it is a symbol'],
    ['return { big: 10n }', '"big" is a bigint'],
    ['return [{ onClick() {} }]', '"onClick" is a function'],
    ['const a = { b: {} }; a.b.c = [a]; return a', 'it contains itself'],
    ['let a = []; for (let i = 0; i < 1000; i++) a = [a]; return a', 'it is nested more than 500 levels deep'],
  ])('%s is refused because it is not JSON', async (code, why) => {
    const { code: errorCode, message, retry } = await failureOf(code);

    expect({ errorCode, message, retry }).toEqual({
      errorCode: 'INVALID_OUTPUT',
      message: `The result is not JSON: ${why}`,
      retry: false,
    });
  });
});

describe('the error of code', () => {
  test.each([
    ['throw new Error("boo")', 'Error: boo (line 1)', true],
    ['\n\nreturn ctx.missing.x', "TypeError: Cannot read properties of undefined (reading 'x') (line 3)", false],
    ['const f = () => { throw new RangeError("r") };\nawait null;\nf()', 'RangeError: r (line 1)', true],
    ['return missing', 'ReferenceError: missing is not defined (line 1)', false],
    ['return 1;\nlet = = 2', "SyntaxError: Unexpected token '=' (line 2)", false],
    ['return 1 }); (function () {', 'SyntaxError: Single function literal required', false],
    ['class Odd extends Error { name = "Odd" }; throw new Odd("own")', 'Odd: own (line 1)', true],
    ['throw "text"', 'Error: text', true],
    ['throw { code: 42 }', 'Error: {"code":42}', true],
    ['throw undefined', 'Error: undefined', true],
    ['await Promise.reject(new Error("late"))', 'Error: late (line 1)', true],
    ['return { toJSON() { throw new Error("json") } }', 'Error: json (line 1)', true],
    ['throw new Error("at code.js:99")', 'Error: at code.js:99 (line 1)', true],
  ])('%s', async (code, message, retry) => {
    const error = await failureOf(code);

    expect({ code: error.code, message: error.message, retry: error.retry }).toEqual({
      code: 'NODE_FAILED',
      message,
      retry,
    });
  });

  test('an unhandled rejection does not affect this result or the next', async () => {
    expect(await run('Promise.reject(new Error("lost")); return 1')).toBe(1);
    expect(await run('return 2')).toBe(2);
  });
});

describe('time', () => {
  test.each([
    ['while (true) {}'],
    ['for (;;) await null'],
    ['(async () => { for (;;) await null })(); return 1'],
    ['try { while (true) {} } finally { return 1 }'],
    ['return { toJSON() { for (;;); } }'],
    ['return { get a() { for (;;); } }'],
    ['throw { get message() { for (;;); } }'],
    ['throw new Proxy({}, { get() { for (;;); } })'],
    ['return { then() { for (;;); } }'],
    ['return /^(a+)+$/.test("a".repeat(40) + "!")'],
    ['Error.prepareStackTrace = () => { for (;;); }; throw new Error("x")'],
    ['for (;;) new Function("return " + Math.random())()'],
  ])('%s ends at its limit', async (code) => {
    const { value: error, ms } = await timed(() => failureOf(code, { timeoutMs: 100 }));

    expect(error).toMatchObject({ code: 'NODE_TIMEOUT', message: 'The code did not finish within 100 ms' });
    expect(ms).toBeGreaterThan(90);
  });

  test.each([['await new Promise(() => {})'], ['return { then() {} }'], ['await { then() {} }; return 1']])(
    '%s fails at once: nothing can settle it',
    async (code) => {
      const message = 'The code waits for a promise that is never settled';

      expect(await failureOf(code, { timeoutMs: 600_000 })).toMatchObject({
        code: 'NODE_TIMEOUT',
        message,
        retry: false,
      });
    },
  );

  test('getters of unhandled rejections do not run', async () => {
    const code = 'Promise.reject({ get message() { for (;;); }, get stack() { for (;;); } }); return 1';

    expect(await run(code, { timeoutMs: 1000 })).toBe(1);
  });

  test('a built-in that cannot be interrupted ends its host, affects no other call, and sets its tenant apart', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
    await run('return 1', { sandbox });
    const before = newcomer(others);
    const stuck = 'return "x".repeat(2 ** 25).lastIndexOf("x".repeat(2 ** 20) + "y" + "x".repeat(2 ** 20))';
    const getStuck = (tenantID: string) => failureOf(stuck, { sandbox, tenantID, timeoutMs: 200 });

    expect(await getStuck('stuck')).toMatchObject({ code: 'NODE_TIMEOUT' });
    expect(await run('return 2', { sandbox })).toBe(2);
    expect(children()).not.toContain(before);
    expect(sandbox.processes).toBe(1);
    expect(await run('return 3', { sandbox, tenantID: 'stuck' })).toBe(3);
    expect(sandbox.processes).toBe(2);

    const again = getStuck('another');
    const beside = run('const end = Date.now() + 700; while (Date.now() < end); return "done"', { sandbox });
    expect(await again).toMatchObject({ code: 'NODE_TIMEOUT' });
    expect(await beside).toBe('done');
  });

  test('a host that does not respond is killed one second after the limit', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
    await run('return 1', { sandbox });
    process.kill(newcomer(others), 'SIGSTOP');

    const { value: error, ms } = await timed(() => failureOf('return 1', { sandbox, timeoutMs: 100 }));

    expect(error.code).toBe('NODE_TIMEOUT');
    expect(ms).toBeGreaterThan(1000);
    expect(await run('return 2', { sandbox })).toBe(2);
  });

  test('endless loops of some tenants take no permit of another, and any number of one tenant takes one', async () => {
    const sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
    const tenants = ['a', 'b', 'c', ...Array.from({ length: 20 }, () => 'd')];
    const loops = tenants.map((tenantID) => failureOf('for (;;);', { sandbox, tenantID, timeoutMs: 60_000 }));

    for (let n = 0; n < 5; n += 1) expect(await run('return 1', { sandbox, tenantID: 'quick' })).toBe(1);
    expect(sandbox.used).toBe(4);

    await sandbox[Symbol.asyncDispose]();
    expect(new Set((await Promise.all(loops)).map((error) => error.code))).toEqual(new Set(['UNAVAILABLE']));
  });

  test('a tenant that floods the queue delays only itself', async () => {
    const sandbox = single;
    await run('return 1', { sandbox });
    const pause = 'const end = Date.now() + 10; while (Date.now() < end); return 1';
    let flooded = 0;
    const flood = Array.from({ length: 40 }, () =>
      run(pause, { sandbox, tenantID: 'many' }).then(() => (flooded += 1)),
    );

    await run('return 1', { sandbox, tenantID: 'one' });

    expect(flooded).toBeLessThan(10);
    await Promise.all(flood);
    expect(flooded).toBe(40);
  });
});

describe('memory', () => {
  const sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
  afterAll(() => sandbox[Symbol.asyncDispose]());

  test.each([
    ['objects', 'const a = []; for (;;) a.push({ x: 1, y: [a.length] })'],
    ['one huge array', 'return new Array(1e7).fill(1.5).length'],
    ['what promises hold', 'const a = []; for (;;) a.push(await new Array(1000).fill(1))'],
    ['buffers', 'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))'],
    ['one huge text', 'return "x".repeat(2 ** 27).normalize("NFD").length'],
    ['memory V8 does not count', 'const a = []; for (;;) a.push(new Intl.Collator("zh"), new Intl.NumberFormat("de"))'],
  ])('%s: the call fails at its limit, and one of another tenant in the same host does not', async (what, code) => {
    const pause = 'const end = Date.now() + 200; while (Date.now() < end); return true';
    const beside = run(pause, { sandbox, tenantID: 'other' });

    const limits = { memoryMB: 16, timeoutMs: 50_000 };
    const { code: errorCode, message, retry } = await failureOf(code, { sandbox, tenantID: what, ...limits });

    expect({ errorCode, message, retry }).toEqual({
      errorCode: 'NODE_FAILED',
      message: 'The code exceeded its memory limit of 16 MB',
      retry: false,
    });
    expect(await beside).toBe(true);
    expect(await run('return 1', { sandbox, tenantID: 'other' })).toBe(1);
    expect(await run('return 2', { sandbox, tenantID: what })).toBe(2);
  });

  test('a smaller limit is a limit of its own', async () => {
    const code = 'return new Array(3e6).fill(1.5).length';

    expect(await run(code, { memoryMB: 128 })).toBe(3e6);
    expect(await run('return 1', { memoryMB: 128 })).toBe(1);
    expect(await failureOf(code, { memoryMB: 16 })).toMatchObject({
      code: 'NODE_FAILED',
      message: 'The code exceeded its memory limit of 16 MB',
    });
  });

  test('many calls do not fill a small isolate', async () => {
    for (let i = 0; i < 300; i += 1) expect(await run(`return ${i % 3}`, { memoryMB: 16 })).toBe(i % 3);
  });

  test('deep recursion is an ordinary error', async () => {
    const error = await failureOf('const f = () => f() + 1; return f()');

    expect(error).toMatchObject({
      code: 'NODE_FAILED',
      message: expect.stringMatching(/^RangeError: Maximum call stack/),
    });
  });

  test('no buffer can grow beyond the limit', async () => {
    const code = `
      const b = new ArrayBuffer(8, { maxByteLength: 2 ** 31 });
      class Mine extends ArrayBuffer {}
      const others = [b.constructor, new Uint8Array(1).buffer.constructor, ArrayBuffer[Symbol.species], Object.getPrototypeOf(Mine)];
      return [b.resizable, new Mine(8, { maxByteLength: 16 }).resizable, others.map((C) => new C(8, { maxByteLength: 16 }).resizable),
        b.slice(0, 4).resizable, b.transfer(16).resizable, b instanceof ArrayBuffer, ArrayBuffer.isView(new DataView(new ArrayBuffer(1)))]`;

    expect(await run(code)).toEqual([false, false, [false, false, false, false], false, false, true, true]);
  });
});

describe('output', () => {
  const tooLarge = {
    code: 'OUTPUT_TOO_LARGE',
    message: 'The result is larger than the limit of 1000 bytes (NODE_OUTPUT_MAX_BYTES)',
    retry: false,
  };

  test.each([
    ['a text', 'return "x".repeat(999)'],
    ['half a gigabyte', 'return "x".repeat(2 ** 29 - 24)'],
    ['a gigabyte in pieces', 'const mb = "x".repeat(2 ** 20); return Array.from({ length: 1024 }, () => mb)'],
    ['many small values', 'return new Array(501).fill(1)'],
    ['long keys', 'return { ["k".repeat(1000)]: 1 }'],
    ['characters of several bytes', 'return "ä".repeat(500)'],
    ['escapes', 'return "\\0".repeat(200)'],
    ['what toJSON makes', 'return { toJSON: () => "x".repeat(2000) }'],
  ])('%s beyond the limit', async (_, code) => {
    expect(await failureOf(code, { maxOutputBytes: 1000 })).toMatchObject(tooLarge);
  });

  test('output of exactly the limit is allowed', async () => {
    expect(await run('return "x".repeat(998)', { maxOutputBytes: 1000 })).toHaveLength(998);
    expect(await run('return "ä".repeat(499)', { maxOutputBytes: 1000 })).toHaveLength(499);
  });

  test('without its own limit a call has the configured one', async () => {
    expect(await run(`return "x".repeat(${maxOutputBytes - 2})`)).toHaveLength(maxOutputBytes - 2);
    expect(await failureOf(`return "x".repeat(${maxOutputBytes})`)).toMatchObject({ code: 'OUTPUT_TOO_LARGE' });
  });
});

describe('escape attempts', () => {
  const inside = 'typeof process + typeof require + typeof fetch + typeof setTimeout';
  const nothing = 'undefined'.repeat(4);
  const body = `return ${inside}`;

  test('the globals are those of the language', async () => {
    const names = (await run('return Object.getOwnPropertyNames(globalThis)')) as string[];

    for (const name of ['Object', 'JSON', 'Promise', 'Intl', 'Temporal', 'Math', 'eval']) expect(names).toContain(name);
    const forbidden = ['process', 'require', 'module', 'global', 'fetch', 'setTimeout', 'setInterval'];
    forbidden.push(
      'queueMicrotask',
      'WebAssembly',
      'SharedArrayBuffer',
      'Atomics',
      'FinalizationRegistry',
      'performance',
    );
    forbidden.push('structuredClone', 'Buffer', 'URL', 'crypto', 'ivm', 'Isolate', '$0');
    for (const name of forbidden) expect(names).not.toContain(name);
  });

  test.each([
    ['the constructor of a constructor', `return this.constructor.constructor('${body}')()`],
    ['the constructor of ctx', `return ctx.constructor.constructor('${body}')()`],
    ['the constructor of a nested value', `return ctx.list.constructor.constructor('${body}')()`],
    ['an arrow’s constructor', `return (() => {}).constructor('${body}')()`],
    ['an async function’s constructor', `return await (async () => {}).constructor('${body}')()`],
    ['a generator’s constructor', `return (function* () {}).constructor('${body}')().next().value`],
    ['an async generator’s', `return (await (async function* () {}).constructor('${body}')().next()).value`],
    ['the code’s own function', `return arguments.callee.constructor('${body}')()`],
    ['eval', `return eval('${inside}')`],
    ['a function of the host', `return crypto.createHash.constructor('${body}')()`],
    [
      'what the host returns',
      `return (await crypto.subtle.digest('SHA-1', new Uint8Array(1))).constructor.constructor('${body}')()`,
    ],
    ['indirect eval', `return (0, eval)('${inside}')`],
    ['an error V8 made', `try { null.x } catch (e) { return e.constructor.constructor('${body}')() }`],
    [
      'a stack overflow',
      `const f = () => f(); try { f() } catch (e) { return e.constructor.constructor('${body}')() }`,
    ],
    ['a refused import', `try { await import('node:fs') } catch (e) { return e.constructor.constructor('${body}')() }`],
    [
      'a failed allocation',
      `try { new Uint8Array(2 ** 33) } catch (e) { return e.constructor.constructor('${body}')() }`,
    ],
    ['a promise', `return Promise.resolve().constructor.constructor('${body}')()`],
    ['a sloppy this', `return (function () { return this })().constructor.constructor('${body}')()`],
    ['with', `return Function('with (arguments[0]) { return ${inside} }')(ctx)`],
  ])('%s gives no access to the host', async (_, code) => {
    expect(await run(code, { args: { ctx: { list: [1] } } })).toBe(nothing);
  });

  test.each([
    ['import("node:fs")', 'return (await import("node:fs")).readFileSync("/etc/passwd", "utf8")'],
    ['import("isolated-vm")', 'return Object.keys(await import("isolated-vm"))'],
    ['import() in a string', 'return await Function("return import(\'node:child_process\')")()'],
    ['import.meta', 'return import.meta.url'],
    ['require', 'return require("node:fs").readFileSync("/etc/passwd", "utf8")'],
    ['process', 'return process.env'],
    ['a binding', 'return process.binding("fs")'],
  ])('%s fails', async (_, code) => {
    expect(await failureOf(code)).toMatchObject({ code: 'NODE_FAILED' });
  });

  test('stack frames hold no function, receiver or path of the host', async () => {
    const code = `
      Error.prepareStackTrace = (_, sites) => sites.map((site) => [
        site.getFunction() === arguments.callee, typeof site.getThis(), site.getFileName(), site.isNative()]);
      const { stack } = new Error('x');
      return stack;`;

    const frames = (await run(code)) as [boolean, string, string, boolean][];

    expect(frames.length).toBeGreaterThan(1);
    expect(frames[0]).toEqual([true, 'object', 'code.js', false]);
    for (const [, receiver, file] of frames.slice(1)) expect([receiver, file]).toEqual(['undefined', 'prelude.js']);
  });

  test('the caller of the code cannot be reached', async () => {
    const code = `
      function caller(f) { try { return String(f.caller) } catch (error) { return error.name } }
      return [arguments.length, caller(arguments.callee)]`;

    expect(await run(code)).toEqual([1, 'TypeError']);
  });

  test.each([
    ['JSON', 'JSON.stringify = () => "1"; JSON.parse = () => 1; return [2]', [2]],
    ['String', 'String.prototype.slice = () => "x"; String = () => "x"; return "kept"', 'kept'],
    ['Reflect', 'Reflect.apply = Reflect.construct = () => { throw 1 }; return 3', 3],
    ['Promise', 'Promise.prototype.then = () => { throw 1 }; Promise = null; return 4', 4],
    [
      'Array elements',
      'for (let i = 0; i < 600; i++) Object.defineProperty(Array.prototype, i, { set() { throw 1 } }); return [[5]]',
      [[5]],
    ],
    [
      'Object',
      'for (const k of ["kind", "json", "message", "name"]) Object.defineProperty(Object.prototype, k, { set() { throw 1 }, get() { throw 1 } }); return { a: 6 }',
      { a: 6 },
    ],
    [
      'the prototype of everything',
      'Object.setPrototypeOf(globalThis, new Proxy({}, { get() { throw 1 }, has() { throw 1 } })); return 7',
      7,
    ],
  ])('replacing %s does not affect the transfer of the result', async (_, code, expected) => {
    expect(await run(code)).toEqual(expected);
  });

  test.each([
    [
      'a proxy',
      'throw new Proxy(function () {}, { get(_, key) { return key === "stack" ? { leak: 1 } : "own" } })',
      'own: own',
    ],
    [
      'a getter',
      'throw { get name() { return "N" }, get message() { return { toString: () => "M" } }, get stack() { return { a: 1 } } }',
      'N: M',
    ],
    [
      'what cannot be read',
      'throw new Proxy({}, { get() { throw 1 } })',
      'Error: the thrown value cannot be described',
    ],
    ['a class', 'throw class Trap {}', 'Trap: undefined'],
    ['a huge message', 'throw new Error("x".repeat(1e6))', `Error: ${'x'.repeat(2000)}`],
  ])('%s is transferred as text when thrown', async (_, code, message) => {
    expect((await failureOf(code)).message.replace(/ \(line 1\)$/, '')).toBe(message);
  });

  test('a result that is a proxy, or changes while it is read, is transferred as JSON', async () => {
    const proxy =
      'return new Proxy({ a: 1 }, { ownKeys: () => ["a", "b"], get: (_, key) => (key === "toJSON" ? undefined : key + "!"), ' +
      'getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 0 }) })';

    expect(await run(proxy)).toEqual({ a: 'a!', b: 'b!' });
    expect(await run('let n = 0; return { get a() { return n++ }, get b() { return n++ } }')).toEqual({ a: 0, b: 1 });
    expect(await run('return { then(resolve) { resolve({ from: "thenable" }) } }')).toEqual({ from: 'thenable' });
  });

  test('names of arguments cannot carry code', async () => {
    const args = { 'ctx){ return "out" }); (async function (x': 1 };

    expect(await failureOf('return 1', { args })).toMatchObject({ code: 'NODE_FAILED', message: /^SyntaxError/ });
  });
});

describe('isolation', () => {
  test('a call finds no state of the calls before it', async () => {
    const dirty = `
      globalThis.left = 1; var alsoLeft = 2; leaked = 3; Object.prototype.polluted = 4; Array.prototype.map = null;
      JSON.parse = null; Symbol.for('left'); ctx.__proto__.deep = 5; Promise.prototype.then = null; delete globalThis.Math;
      ({}).constructor.assign = null; return 'dirty'`;
    const check = `
      return [typeof left, typeof alsoLeft, typeof leaked, typeof ({}).polluted, typeof [].map, typeof JSON.parse,
        typeof ({}).deep, typeof Promise.prototype.then, typeof Math, typeof Object.assign, typeof ctx.deep]`;
    const clean = [
      'undefined',
      'undefined',
      'undefined',
      'undefined',
      'function',
      'function',
      'undefined',
      'function',
      'object',
      'function',
      'undefined',
    ];
    const sandbox = single;

    for (let i = 0; i < 3; i += 1) {
      expect(await run(dirty, { sandbox })).toBe('dirty');
      expect(await run(check, { sandbox })).toEqual(clean);
      expect(await run(check, { sandbox, tenantID: 'other' })).toEqual(clean);
    }
  });

  test('the same code has fresh state each time', async () => {
    const code =
      'globalThis.n = (globalThis.n ?? 0) + 1; const f = () => 1; f.count = (f.count ?? 0) + 1; return [n, f.count, ctx.n]';

    for (let n = 0; n < 5; n += 1) expect(await run(code, { args: { ctx: { n } } })).toEqual([1, 1, n]);
  });

  test('pending work does not run after the call', async () => {
    await run('(async () => { await null; globalThis.late = 1 })(); return 1');

    expect(await run('return typeof late')).toBe('undefined');
  });

  test('more tenants are served than a host keeps isolates for', async () => {
    const tenants = Array.from({ length: 50 }, (_, i) => `tenant-${i}`);
    const ask = (tenantID: string) => run('return ctx', { tenantID, args: { ctx: tenantID } });

    expect(await Promise.all(tenants.map(ask))).toEqual(tenants);
    expect(await Promise.all(tenants.map(ask))).toEqual(tenants);
  });

  test('a hundred concurrent calls each get their own result', async () => {
    const calls = Array.from({ length: 100 }, (_, i) => i);

    const values = await Promise.all(
      calls.map((i) => run('return ctx * 2', { tenantID: `t${i % 7}`, args: { ctx: i } })),
    );

    expect(values).toEqual(calls.map((i) => i * 2));
  });
});

describe('a host', () => {
  test('starts when it is needed, has no environment and may not read files', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ processes: 2, maxOutputBytes }, logger);
    expect(sandbox.processes).toBe(0);

    await run('return 1', { sandbox });

    expect(sandbox.processes).toBe(1);
    expect(children().filter((pid) => !others.has(pid))).toHaveLength(1);

    const pid = newcomer(others);
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((entry) => entry.split('=')[0]);
    const flags = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');

    expect(names.filter((name) => name && !name.startsWith('NODE_CHANNEL'))).toEqual(['TZ']);
    expect(flags).toContain('--permission');
    expect(flags.filter((flag) => /^--allow-(?!addons|fs-read)/.test(flag))).toEqual([]);
  });

  test('killed during calls fails none of them: each runs once more, alone', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
    await run('return 1', { sandbox });
    const pause = 'const end = Date.now() + 100; while (Date.now() < end); return ctx';
    const ask = (tenantID: string) => run(pause, { sandbox, tenantID, args: { ctx: tenantID } });
    const calls = Promise.all(['a', 'b', 'c'].map(ask));
    await until(() => sandbox.used === 3);

    process.kill(newcomer(others), 'SIGKILL');

    expect(await calls).toEqual(['a', 'b', 'c']);
    expect(await run('return 1', { sandbox })).toBe(1);
  });

  test('that dies again with a single call fails that call', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ processes: 1, maxOutputBytes }, logger);
    await run('return 1', { sandbox });
    const doomed = failureOf('for (;;);', { sandbox, tenantID: 'doomed', timeoutMs: 30_000 });
    await until(() => sandbox.used === 1);
    const first = newcomer(others);
    process.kill(first, 'SIGKILL');
    await until(() => sandbox.used === 1 && children().some((pid) => !others.has(pid) && pid !== first));

    process.kill(newcomer(others), 'SIGKILL');

    expect(await doomed).toMatchObject({ code: 'NODE_FAILED', retry: true });
    expect(await run('return 1', { sandbox })).toBe(1);
    expect(await run('return 2', { sandbox, tenantID: 'doomed' })).toBe(2);
  });
});

describe('processes of one tenant each', () => {
  const perTenant = { maxOutputBytes, isPerTenant: true };

  test('a process serves no second tenant, and ends when its own has been idle', async () => {
    const others = new Set(children());
    const own = () => children().filter((pid) => !others.has(pid) && !isZombie(pid));
    await using sandbox = createSandbox({ ...perTenant, processes: 2, idleMs: 2_500 }, logger);

    expect(await run('return 1', { sandbox, tenantID: 'a' })).toBe(1);
    const first = own();
    expect(await run('return 2', { sandbox, tenantID: 'b' })).toBe(2);
    expect(first).toHaveLength(1);
    expect(own()).toHaveLength(2);
    for (let n = 0; n < 5; n += 1)
      expect(await run('return ctx', { sandbox, tenantID: 'a', args: { ctx: n } })).toBe(n);
    expect(own()).toHaveLength(2);

    await until(() => sandbox.processes === 0 && own().length === 0);
    expect(await run('return 3', { sandbox, tenantID: 'a' })).toBe(3);
    expect(own().filter((pid) => first.includes(pid))).toEqual([]);
  });

  test('with fewer processes than tenants, each tenant gets its turn in a process of its own', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ ...perTenant, processes: 1 }, logger);
    const pids = new Set<number>();
    const ask = (tenantID: string) => run('return ctx', { sandbox, tenantID, args: { ctx: tenantID } });
    const askAndRead = async (tenantID: string) => {
      const answer = await ask(tenantID);
      for (const pid of children()) if (!others.has(pid) && !isZombie(pid)) pids.add(pid);
      return answer;
    };
    await askAndRead('busy');
    let isFlooded = true;
    const askOn = async () => {
      while (isFlooded) await ask('busy');
    };
    const flood = Promise.all(Array.from({ length: 5 }, askOn));

    expect(await Promise.all(['a', 'b'].map(askAndRead))).toEqual(['a', 'b']);
    isFlooded = false;
    // One of the busy tenant, and one each of the others, at least.
    expect(pids.size).toBeGreaterThanOrEqual(3);
    expect(sandbox.processes).toBe(1);
    await flood;
  });

  test('a suspect does not share the process apart with another suspect', async () => {
    const others = new Set(children());
    await using sandbox = createSandbox({ ...perTenant, processes: 1 }, logger);
    const stuck = 'return "x".repeat(2 ** 25).lastIndexOf("x".repeat(2 ** 20) + "y" + "x".repeat(2 ** 20))';
    for (const tenantID of ['a', 'b']) await failureOf(stuck, { sandbox, tenantID, timeoutMs: 200 });
    const own = () => children().filter((pid) => !others.has(pid) && !isZombie(pid));

    expect(await run('return 1', { sandbox, tenantID: 'a' })).toBe(1);
    const first = own();
    expect(await run('return 2', { sandbox, tenantID: 'b' })).toBe(2);
    expect(own().filter((pid) => first.includes(pid))).toEqual([]);
  });
});

describe('an abort', () => {
  test('before the call', async () => {
    const reason = new Error('too late');

    await expect(run('return 1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("rejects with its reason, and ends the loop before the tenant's next call", async () => {
    const sandbox = single;
    await run('return 1', { sandbox });
    const abort = new AbortController();
    const reason = new Error('stopped by a person');
    const call = run('for (;;);', { sandbox, signal: abort.signal, timeoutMs: 60_000 });
    const ended = expect(call).rejects.toBe(reason);
    await until(() => sandbox.used === 1);

    abort.abort(reason);
    await ended;

    // A tenant has one call at a time: this one waits until the loop has ended.
    expect(await run('return 2', { sandbox, timeoutMs: 60_000 })).toBe(2);
  });

  test('ends a call that has not begun', async () => {
    const sandbox = single;
    const abort = new AbortController();
    const first = run('const end = Date.now() + 200; while (Date.now() < end); return 1', { sandbox });
    const second = run('return 2', { sandbox, signal: abort.signal });
    const third = run('return 3', { sandbox });

    abort.abort(new Error('changed my mind'));

    await expect(second).rejects.toThrow('changed my mind');
    expect(await first).toBe(1);
    expect(await third).toBe(3);
  });

  test('after the call has no effect', async () => {
    const abort = new AbortController();
    expect(await run('return 1', { signal: abort.signal })).toBe(1);

    abort.abort();

    expect(await run('return 2')).toBe(2);
  });
});

describe('disposal', () => {
  test('ends running and waiting calls, and leaves no process', async () => {
    const others = new Set(children());
    const sandbox = createSandbox({ processes: 2, maxOutputBytes }, logger);
    await run('return 1', { sandbox });
    const loops = ['a', 'a', 'a', 'b'].map((tenantID) =>
      failureOf('for (;;);', { sandbox, tenantID, timeoutMs: 60_000 }),
    );
    await until(() => sandbox.used === 2);

    await sandbox[Symbol.asyncDispose]();

    for (const error of await Promise.all(loops)) expect(error.code).toBe('UNAVAILABLE');
    expect(children().filter((pid) => !others.has(pid))).toEqual([]);
    expect(await failureOf('return 1', { sandbox })).toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('hosts end with the process that started them', async () => {
    const script = `
      import { createSandbox } from '#workers/sandbox/pool.ts';
      import { createLogger } from '#shared/core/logger.ts';
      const sandbox = createSandbox({ processes: 1, maxOutputBytes: 1000 }, createLogger({ level: 'silent' }));
      await sandbox.run({ tenantID: 't', code: 'return 1', args: {}, timeoutMs: 5000 }, new AbortController().signal);
      sandbox.run({ tenantID: 't', code: 'for (;;);', args: {}, timeoutMs: 60_000 }, new AbortController().signal);
      process.send('running');`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      cwd: new URL('../../..', import.meta.url),
    });
    await once(parent, 'message');
    const hosts = children(parent.pid);
    expect(hosts).toHaveLength(1);

    parent.kill('SIGKILL');
    await once(parent, 'exit');

    await until(() => hosts.every((pid) => !existsSync(`/proc/${pid}`) || isZombie(pid)));
  });
});

test('large arguments and results count among the bytes that a worker holds', async () => {
  const ctx = { text: 'x'.repeat(400_000) };

  expect(await reservedBy(() => run('return 1', { args: { ctx } }))).toBe(0);
  expect(await reservedBy(() => run('return "x".repeat(400000)'))).toBeGreaterThanOrEqual(400_000);
  await expect(withLittle(() => run('return 1', { args: { ctx } }))).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  });

  async function withLittle(work: () => Promise<unknown>): Promise<unknown> {
    const flow = { tenantID: 'tenant' };
    using reservation = createMemoryBudget({ maxBytes: 400_000 }).openReservation(flow);
    return await withReservation(flow, reservation, work);
  }
});

test('code that fails while its node waits to have its slot back fails that node, and nothing else', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => void process.off('unhandledRejection', note));
  const semaphore = createSemaphore({ permits: 1 });
  const [own, other] = [{ tenantID: 'tenant' }, { tenantID: 'other' }];
  semaphore.tryAcquire(own);
  using permit = new Permit(semaphore, own);
  const sandbox = single;
  const before = run('const end = Date.now() + 100; while (Date.now() < end); return 1', { sandbox });

  const failure = permit.run(() => failureOf('throw new Error("no luck")', { sandbox }));
  await until(() => semaphore.tryAcquire(other));
  await before;
  // Answered after this, since a tenant has one call at a time, and heard of only with a slot.
  expect(await run('return 2', { sandbox })).toBe(2);
  semaphore.release(other);

  expect((await failure).message).toMatch('no luck');
  expect(unhandled).toEqual([]);
});
