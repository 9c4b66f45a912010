import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';

const triggers = 'T/database/schemas/public/triggers';
let cluster: Cluster;
let api: Client;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
});
beforeEach(async () => {
  const tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
  const sql = `
    create table things (id int primary key, note text);
    create view seen as select * from things;
    create function shout() returns trigger language plpgsql as $$ begin if tg_level = 'ROW' then new.note := upper(new.note); end if; return new; end $$;
    create function plain() returns int language sql as 'select 1'`;
  expect((await api.post('T/database/execute-raw-sql', { sql })).status).toBe(200);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const create = (more: object = {}, query = '') =>
  api.post(triggers + query, {
    databaseTableName: 'things',
    databaseTriggerName: 'shouting',
    triggerTiming: 'before',
    triggerEvents: 'insert or UPDATE',
    triggerFunction: 'shout',
    ...more,
  });

test('a trigger is created, fires, is read and is dropped', async () => {
  const preview = await create({ triggerCondition: `new.note <> ')'` }, '?preview=true');
  expect((await api.get(triggers)).body.databaseTriggers).toEqual([]);
  const created = await create({ triggerCondition: `new.note <> ')'` });
  await api.post('T/database/schemas/public/tables/things/rows', {
    databaseTableRowData: [
      { id: 1, note: 'loud' },
      { id: 2, note: ')' },
    ],
  });

  const rows = await api.get('T/database/schemas/public/tables/things/rows');
  const list = await api.get(triggers);
  const one = await api.get(`${triggers}/things/shouting`);

  expect(preview.body.message).toBe('Preview only: nothing was changed');
  expect(created).toMatchObject({ status: 201, body: { message: 'Trigger created', sql: preview.body.sql } });
  expect(await create()).toMatchObject({
    status: 409,
    body: { error: { code: 'CONFLICT', details: { postgres_code: '42710' } } },
  });
  expect(rows.body.databaseTableRows).toMatchObject([{ note: 'LOUD' }, { note: ')' }]);
  expect(list.body.databaseTriggers).toMatchObject([
    {
      databaseSchemaName: 'public',
      databaseTableName: 'things',
      databaseTriggerName: 'shouting',
      triggerTiming: 'BEFORE',
      triggerEvents: ['INSERT', 'UPDATE'],
      triggerDefinition: expect.stringContaining('CREATE TRIGGER'),
    },
  ]);
  expect(one.body.databaseTrigger).toMatchObject({
    forEach: 'ROW',
    whenCondition: expect.stringContaining('new.note'),
    triggerFunction: 'public.shout',
    referencingOld: null,
    deferrable: false,
    initiallyDeferred: false,
  });
  expect(await api.delete(`${triggers}/things/shouting`)).toMatchObject({ status: 200 });
  expect((await api.get(`${triggers}/things/shouting`)).status).toBe(404);
  expect((await api.delete(`${triggers}/things/shouting`)).status).toBe(404);
});

test('events are a text or a list', async () => {
  expect((await create({ triggerEvents: ['INSERT', 'delete'], triggerFunction: 'public.shout' })).status).toBe(201);
  expect(
    (await create({ databaseTriggerName: 'b', triggerEvents: 'insert, update', triggerTiming: 'after' })).status,
  ).toBe(201);
  expect((await create({ databaseTriggerName: 'c', triggerEvents: 'TRUNCATE' })).status).toBe(201);
  expect(
    (await create({ databaseTriggerName: 'd', databaseTableName: 'seen', triggerTiming: 'INSTEAD OF' })).status,
  ).toBe(201);

  const { body } = await api.get(triggers);
  expect(
    body.databaseTriggers.map((one: { triggerTiming: string; triggerEvents: string[]; forEach: string }) => [
      one.triggerTiming,
      one.triggerEvents.join(),
      one.forEach,
    ]),
  ).toEqual([
    ['INSTEAD OF', 'INSERT,UPDATE', 'ROW'],
    ['AFTER', 'INSERT,UPDATE', 'ROW'],
    ['BEFORE', 'TRUNCATE', 'STATEMENT'],
    ['BEFORE', 'INSERT,DELETE', 'ROW'],
  ]);
});

test.each<[string, object]>([
  ['triggerTiming', { triggerTiming: 'INSTEAD OF' }],
  ['triggerTiming', { triggerTiming: 'DURING' }],
  ['triggerTiming', { triggerTiming: undefined }],
  ['triggerEvents', { triggerEvents: undefined }],
  ['triggerTiming', { databaseTableName: 'seen', triggerTiming: 'BEFORE' }],
  ['triggerEvents', { triggerEvents: 'TRUNCATE', forEach: 'ROW' }],
  ['triggerEvents', { triggerEvents: 'SELECT' }],
  ['triggerEvents', { triggerEvents: 'insert on things execute function x' }],
  ['triggerFunction', { triggerFunction: 'missing' }],
  ['triggerFunction', { triggerFunction: 'plain' }],
  ['triggerFunction', { triggerFunction: 'shout(); drop table things' }],
  ['triggerFunction', { triggerFunction: undefined }],
  ['triggerCondition', { triggerCondition: 'true) execute function shout(); drop table things; --' }],
  ['databaseTriggerName', { databaseTriggerName: '' }],
])('%s is named: %j', async (field, bad) => {
  const answer = await create(bad);

  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  expect(answer.body.error.message).toContain(field);
  expect((await api.get(triggers)).body.databaseTriggers).toEqual([]);
});

test("without triggerFunction, the function with the trigger's name in the table's schema is called", async () => {
  const sql = `
    create schema other;
    create table other.things (id int);
    create function other.touch() returns trigger language plpgsql as $$ begin return new; end $$;
    create function touch() returns trigger language plpgsql as $$ begin return new; end $$`;
  await api.post('T/database/execute-raw-sql', { sql });
  const unnamed = (databaseTriggerName: string) =>
    api.post('T/database/schemas/other/triggers', {
      databaseTableName: 'things',
      databaseTriggerName,
      triggerTiming: 'BEFORE',
      triggerEvents: 'INSERT',
    });

  expect(await unnamed('touch')).toMatchObject({ status: 201 });
  const read = await api.get('T/database/schemas/other/triggers/things/touch');
  expect(read.body.databaseTrigger.triggerFunction).toBe('other.touch');
  // There is a function of this name, but on the search path only.
  expect(await unnamed('shout')).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining('triggerFunction: is required, since schema "other" has no function "shout"'),
      },
    },
  });
});

test('a trigger of an unknown table is not found', async () => {
  expect((await create({ databaseTableName: 'nothing' })).body.error.code).toBe('NOT_FOUND');
});
