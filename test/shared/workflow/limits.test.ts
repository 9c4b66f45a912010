import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';

const workflowID = '019f0000-0000-7000-8000-000000000001';
const user = { type: 'user', origin: 'direct' } as const;

function governed(options: JsonObject, more: Partial<Parameters<typeof governRun>[1]> = {}) {
  return governRun(WorkflowOptions.parse(options), { workflowID, caller: user, input: {}, ...more });
}

describe('a run', () => {
  test('has the class of its origin, unless the workflow or the request names another', () => {
    const classOf = (type: 'user' | 'apiKey' | 'system', origin: 'direct' | 'cron' | 'listener') =>
      governed({}, { caller: { type, origin } }).class;

    expect(classOf('user', 'direct')).toBe('interactive');
    expect(classOf('apiKey', 'direct')).toBe('batch');
    expect(classOf('user', 'cron')).toBe('cron');
    expect(classOf('apiKey', 'listener')).toBe('webhook');
    expect(governed({ class: 'cron' }).class).toBe('cron');
    expect(governed({ class: 'cron' }, { asked: { class: 'batch' } }).class).toBe('batch');
  });

  test('has the head start of the request, else of the workflow', () => {
    expect(governed({})).not.toHaveProperty('priority');
    expect(governed({ priority: 60 }).priority).toBe(60);
    expect(governed({ priority: 60 }, { asked: { priority: 0 } }).priority).toBe(0);
  });

  test('has the time for its beginning from its workflow, or none', () => {
    expect(governed({})).not.toHaveProperty('queueTimeoutMs');
    expect(governed({ queueTimeout: '5 min' }).queueTimeoutMs).toBe(300_000);
  });

  test('without limits in its workflow has none', () => {
    expect(governed({ class: 'batch', priority: 5 }).limits).toBeUndefined();
  });

  test('has the limits of its workflow', () => {
    expect(governed({ maxRunsAtOnce: 3, rate: { limit: 10, per: 'hour' } }).limits).toEqual({
      runs: 3,
      rate: { limit: 10, seconds: 3_600 },
    });
  });
});

describe('a key', () => {
  const keyOf = (key: string, input: JsonObject, more: JsonObject = {}) =>
    governed({ concurrency: { key, limit: 2, ...more } }, { input }).limits?.key;

  test('is filled from the input, for one workflow or for the tenant', () => {
    const input = { customer: { id: 7, tags: ['a'] } };

    expect(keyOf('customer-{{ctx.input.customer.id}}', input)).toEqual({
      value: `${workflowID}:customer-7`,
      limit: 2,
      onLimit: 'queue',
    });
    expect(keyOf('{{ctx.input.customer.id}}', input, { scope: 'tenant' })?.value).toBe(':7');
    expect(keyOf('{{ctx.input.customer.tags}}', input)?.value).toBe(`${workflowID}:["a"]`);
    expect(keyOf('{{ctx.input.missing}}', input)?.value).toBe(`${workflowID}:`);
    expect(keyOf('import', input)?.value).toBe(`${workflowID}:import`);
  });

  test('of any length fits an index, and long ones differ', () => {
    const long = (end: string) => keyOf('{{ctx.input.a}}', { a: `${'x'.repeat(100_000)}${end}` })?.value ?? '';

    expect(long('1').length).toBeLessThan(300);
    expect(long('1')).not.toBe(long('2'));
    expect(long('1')).toBe(long('1'));
  });
});
