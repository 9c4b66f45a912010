import { describe, expect, test } from 'vitest';
import type { CodeRunner } from '#ops/console/page/bindings/code-run.ts';
import { Bindings } from '#ops/console/page/bindings/graph.ts';

/** Runs code in the test itself; a text `endless` is one whose evaluation was stopped. */
const here: CodeRunner = {
  async run({ source, scope }) {
    if (source.includes('endless')) throw new Error('took longer than 100 ms');
    const roots = Map.groupBy(scope, ({ root }) => root);
    const values = [...roots].map(([root, names]) => {
      const whole = names.find(({ key }) => key === null)?.value;
      return [root, whole ?? Object.fromEntries(names.map(({ key, value }) => [key ?? '', value]))] as const;
    });
    const evaluate = new Function(...values.map(([root]) => root), `return (${source})`);
    return evaluate(...values.map(([, value]) => value));
  },
};

function aPage(variables: Record<string, unknown> = {}): Bindings {
  const page = new Bindings(here);
  for (const [key, value] of Object.entries(variables)) page.set('variables', key, value);
  return page;
}

function valueIn(page: Bindings, json: unknown): unknown {
  page.define('it', json);
  return page.read('it').value;
}

function faultOf(page: Bindings, json: unknown): string | undefined {
  page.define('it', json);
  return page.read('it').faults[0]?.message;
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

describe('values', () => {
  test('a path alone keeps the type of its value, and one within a text becomes a part of it', () => {
    const page = aPage({ order: { id: 7, lines: [{ sku: 'a' }], none: null }, 'a b': 1 });
    expect(valueIn(page, '{{variables.order.lines[0]}}')).toEqual({ sku: 'a' });
    expect(valueIn(page, '{{state.order.id}}')).toBe(7);
    expect(valueIn(page, 'Order {{variables.order.id}}, {{ variables.order.none }}!')).toBe('Order 7, !');
    expect(valueIn(page, '{{variables["a b"]}}')).toBe(1);
    expect(valueIn(page, { rows: ['{{variables.order.lines.length}}', 2], fixed: { a: '{' } })).toEqual({
      rows: [1, 2],
      fixed: { a: '{' },
    });
    expect(valueIn(page, '{{variables.order.lines[9].sku}}')).toBeUndefined();
  });

  test('filters stand behind a path, one after the other, with texts, numbers and paths', () => {
    const rows = [
      { state: 'open', total: '20.5', at: '2026-03-02' },
      { state: 'paid', total: 4, at: '2026-03-01' },
      { state: 'open', total: null, at: '2026-03-03' },
    ];
    const page = aPage({ rows, wanted: 'open', name: 'ada', none: '' });
    const cases: [string, unknown][] = [
      ['{{variables.rows | count}}', 3],
      ['{{variables.rows | where: "state", variables.wanted | count}}', 2],
      ['{{variables.rows | sum("total") | round(1)}}', 24.5],
      ['{{variables.rows | avg: "total"}}', 12.25],
      ['{{variables.rows | min: "total"}}', 4],
      ['{{variables.rows | sort: "at" | map: "at" | first}}', '2026-03-01'],
      ['{{variables.rows | map: "state" | unique | join: " + "}}', 'open + paid'],
      ['{{variables.name | capitalize}}', 'Ada'],
      ['{{variables.none | default: "empty | here"}}', 'empty | here'],
      ['{{variables.rows[1].total | times: 2}}', 8],
      ['{{variables.rows | find: "state", "paid" | get: "total"}}', 4],
      ['{{variables.rows | limit: 1 | json}}', JSON.stringify(rows.slice(0, 1), null, 2)],
    ];
    for (const [text, value] of cases) expect([text, valueIn(page, text)]).toEqual([text, value]);
    expect(faultOf(page, '{{variables.name | sum}}')).toBe('the filter sum needs a list, and "ada" is none');
    expect(faultOf(page, '{{variables.rows | count | nothing}}')).toContain('cannot be read from “| nothing”');
    expect(faultOf(page, '{{variables.name | date}}')).toBe('the filter date needs a date, and "ada" is none');
  });

  test('a name that the page lacks is a fault until it is there', async () => {
    const page = aPage();
    const heard: unknown[] = [];
    page.define('text', 'Day: {{variables.day}}');
    page.observe('text', () => heard.push(page.read('text').value));
    expect(page.read('text')).toEqual({
      value: 'Day: ',
      faults: [{ source: 'variables.day', message: 'there is no variable “day” on this page' }],
      isPending: false,
    });
    page.set('variables', 'day', 'Monday');
    await settled();
    expect(heard).toEqual(['Day: Monday']);
    expect(faultOf(page, '{{orders.data}}')).toContain('“orders” is not known: names begin with queries');
  });

  test('listeners are told of a change that was read before they were called', async () => {
    const page = aPage({ day: 1 });
    const heard: unknown[] = [];
    page.define('text', 'Day {{variables.day}}');
    page.observe('text', () => heard.push(page.read('text').value));
    page.read('text');
    await settled();
    heard.length = 0;
    page.set('variables', 'day', 2);
    expect(page.read('text').value).toBe('Day 2');
    await settled();
    expect(heard).toEqual(['Day 2']);
  });

  test('names of prototypes are refused in every notation, and own names of data that look like them are no way to them', async () => {
    const data = JSON.parse('{"__proto__": {"x": 1}, "constructor": {"name": "own"}, "a": 1}');
    const page = aPage({ data });
    for (const path of ['__proto__.x', 'constructor.name', 'a.constructor', '["__proto__"]', "['prototype']"])
      expect([path, faultOf(page, `{{variables.data${path.startsWith('[') ? '' : '.'}${path}}}`)]).toEqual([
        path,
        expect.stringContaining('may not read'),
      ]);
    expect(faultOf(page, '{{variables.data.__proto__ | json}}')).toContain('may not read');
    expect(faultOf(page, '{{variables.__proto__}}')).toContain('may not read');
    expect(valueIn(page, '{{variables.data.toString}}')).toBeUndefined();
    expect(valueIn(page, '{{variables.data | get: "hasOwnProperty"}}')).toBeUndefined();
    expect(valueIn(page, '{{variables.data.a | map: "x"}}')).toBeUndefined();
    const built = valueIn(page, JSON.parse('{"__proto__": "{{variables.data.a}}"}'));
    expect([Object.getPrototypeOf(built), Object.keys(built as object)]).toEqual([Object.prototype, ['__proto__']]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test('hostile texts end soon, with a fault or as they are', () => {
    const page = aPage({ a: 1 });
    const began = performance.now();
    const cases = [
      `{{${'variables.a'.repeat(5_000)}}}`,
      `{{variables${'.a'.repeat(5_000)}}}`,
      `{{variables.a ${'| upper '.repeat(20_000)}}}`,
      `{{variables.a | default: ${'"x",'.repeat(20_000)}}}`,
      `{{variables.a |${' '.repeat(200_000)}}}`,
      '{{'.repeat(100_000),
      '{{}}'.repeat(30_000),
      `{{${'['.repeat(100_000)}}}`,
      '{{variables.a | replace: "", "xxxxxxxxxx" }}',
    ];
    for (const text of cases) valueIn(page, text);
    let deep: unknown = '{{variables.a}}';
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(faultOf(page, deep)).toContain('nested');
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('changes', () => {
  test('only what depends on a change is computed again, and listeners hear only of other values', async () => {
    const page = aPage({ a: 1, b: 1 });
    const heard: string[] = [];
    for (const [id, text] of Object.entries({
      ofA: '{{variables.a}}',
      ofB: '{{variables.b}}',
      positive: '{{variables.a | count}}',
    })) {
      page.define(id, text);
      page.observe(id, () => heard.push(id));
    }
    page.set('variables', 'a', 'x');
    await settled();
    expect(heard.splice(0)).toEqual(['ofA', 'positive']);
    // A text of the same length leaves its count.
    page.set('variables', 'a', 'y');
    await settled();
    expect(heard.splice(0)).toEqual(['ofA']);
    page.set('variables', 'a', 'y');
    page.set('variables', 'b', { n: [1] });
    page.set('variables', 'b', { n: [1] });
    await settled();
    expect(heard).toEqual(['ofB']);
  });

  test('a computed variable is read by others, stops a change that leaves it, and can be set', async () => {
    const page = aPage({ items: [1, 2] });
    page.compute('variables', 'count', '{{variables.items | count}}');
    page.define('text', '{{variables.count}} items');
    let heard = 0;
    page.observe('text', () => {
      heard += 1;
    });
    expect(page.read('text').value).toBe('2 items');
    page.set('variables', 'items', [3, 4]);
    await settled();
    expect(heard).toBe(0);
    page.set('variables', 'items', [3]);
    await settled();
    expect([heard, page.read('text').value]).toEqual([1, '1 items']);
    page.set('variables', 'count', 9);
    page.set('variables', 'items', []);
    expect(page.read('text').value).toBe('9 items');
  });

  test('what reads itself is told so, wherever it is first read, and what is beside it is not', () => {
    for (const first of ['a', 'b', 'c']) {
      const page = aPage({ free: 1 });
      page.compute('variables', 'a', '{{variables.b}}');
      page.compute('variables', 'b', '{{variables.c}} {{variables.free}}');
      page.compute('variables', 'c', '{{variables.a}}');
      page.compute('variables', 'beside', '{{variables.free}} {{variables.a}}');
      page.get('variables', first);
      for (const key of ['a', 'b', 'c']) {
        page.define('it', `{{variables.${key}}}`);
        expect(page.read('it').value).toBeUndefined();
      }
      expect(page.get('variables', 'beside')).toBe('1 ');
      // The circle is opened.
      page.set('variables', 'c', 'x');
      expect(page.get('variables', 'a')).toBe('x 1');
    }
    const page = aPage();
    page.compute('variables', 'a', '{{variables.a}}');
    page.define('it', { a: '{{variables.a}}', all: '{{variables | json}}' });
    expect(page.read('it').value).toEqual({ a: undefined, all: '{}' });
  });

  test('a thousand bindings on one variable settle within 200 ms, in a row as well as beside one another', async () => {
    const page = aPage({ day: 0 });
    let heard = 0;
    for (let n = 0; n < 1_000; n += 1) {
      page.define(`beside ${n}`, { label: `Day {{variables.day}} of {{variables.day | plus: ${n}}}`, fixed: n });
      page.observe(`beside ${n}`, () => {
        heard += 1;
      });
      page.compute('variables', `row${n}`, n === 0 ? '{{variables.day}}' : `{{variables.row${n - 1} | plus: 1}}`);
    }
    page.define('last', '{{variables.row999}}');
    page.observe('last', () => {
      heard += 1;
    });
    for (let n = 0; n < 1_000; n += 1) page.read(`beside ${n}`);
    expect(page.read('last').value).toBe(999);
    const before = process.cpuUsage();
    page.set('variables', 'day', 1);
    await settled();
    const { user } = process.cpuUsage(before);
    expect([heard, page.read('last').value]).toEqual([1_001, 1_000]);
    expect(user / 1_000).toBeLessThan(200);
  });
});

describe('code', () => {
  test('it is evaluated with the values that it names, anew only when one of them changes', async () => {
    const runs: string[] = [];
    const page = new Bindings({
      run: (job) => {
        runs.push(`${job.source} ${job.scope.map(({ root, key }) => `${root}.${key}`).join(' ')}`);
        return here.run(job);
      },
    });
    page.set('variables', 'a', 2);
    page.set('variables', 'other', 1);
    page.define('it', '{{variables.a * 2 + Math.max(1, variables?.["a"])}}');
    page.observe('it', () => undefined);
    expect(page.read('it')).toMatchObject({ value: undefined, isPending: true });
    await settled();
    expect(page.read('it')).toMatchObject({ value: 6, isPending: false });
    page.set('variables', 'other', 2);
    await settled();
    expect(runs.length).toBe(1);
    page.set('variables', 'a', 3);
    await settled();
    expect(page.read('it').value).toBe(9);
    expect(runs).toEqual(Array(2).fill('variables.a * 2 + Math.max(1, variables?.["a"]) variables.a'));
  });

  test('one that fails marks its own binding and nothing else, and an answer that comes late is dropped', async () => {
    const ends: ((value: unknown) => void)[] = [];
    const page = new Bindings({
      run: (job) => (job.source.includes('late') ? new Promise((end) => ends.push(end)) : here.run(job)),
    });
    page.set('variables', 'a', 1);
    page.define('bad', '{{variables.a.b.c + 1}}');
    page.define('endless', '{{(() => { /* endless */ })() || variables.a}}');
    page.define('good', '{{variables.a + 1}}');
    page.define('late', '{{variables.a + "late"}}');
    for (const id of ['bad', 'endless', 'good', 'late']) page.read(id);
    await settled();
    expect(page.read('bad').faults[0]?.message).toContain('undefined');
    expect(page.read('endless').faults[0]?.message).toBe('took longer than 100 ms');
    expect(page.read('good')).toEqual({ value: 2, faults: [], isPending: false });
    page.set('variables', 'a', 2);
    page.read('late');
    ends[1]?.('second');
    ends[0]?.('first');
    await settled();
    expect(page.read('late').value).toBe('second');
  });

  test('an action is evaluated once, with the event that has caused it', async () => {
    const page = aPage({ a: 1 });
    const own = { event: { row: { id: 5 } } };
    const { value, faults } = await page.once(
      { id: '{{event.row.id}}', sum: '{{event.row.id + variables.a}}', bad: '{{event.x.y.z()}}' },
      own,
    );
    expect(value).toEqual({ id: 5, sum: 6, bad: undefined });
    expect(faults.map(({ source }) => source)).toEqual(['event.x.y.z()']);
  });
});
