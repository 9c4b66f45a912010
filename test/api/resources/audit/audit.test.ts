import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { retireTrails } from '#workers/maintenance/audit/retire-trails.ts';
import { createTrailSeals } from '#workers/maintenance/audit/seal-trails.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { testLogger } from '../../../support/environment.ts';
import { aListener, aMember, anApiKey, aTenant, aWorkflow, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({
    workers: ['audit.entries'],
    settings: { AUDIT_BUFFER_SECONDS: '0.05', AUDIT_RETENTION_MIN_DAYS: '2' },
  });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = (of = tenant) => cluster.as(of.creator).in(of);

interface Log {
  auditLogID: string;
  subType: string;
  outcome: string;
  success: boolean | null;
  userID: string;
  path: string;
  asset: { type: string; id: string } | null;
  changes: { assetType: string; assetID: string; action: string; changes: Record<string, unknown> }[];
  changeCount: number;
  metadata: {
    request: Record<string, unknown>;
    response?: Record<string, unknown>;
    authType: string;
    apiKeyTitle: string;
  };
}

async function logs(query = '', of = tenant): Promise<Log[]> {
  return (await admin(of).get(`T/audit?pageSize=100&${query}`)).body.auditLogs;
}

const verify = async (of: TestTenant, query = '') => (await admin(of).get(`T/audit/verify?${query}`)).body;

/** A new tenant with entries whose outcomes are known. */
async function sealedTenant(count: number): Promise<{ of: TestTenant; rows: number }> {
  const of = await aTenant(cluster);
  for (let n = 0; n < count; n += 1)
    await admin(of).post('T/folders', { folderTitle: `F${n}`, entityType: 'workflow' });
  await eventually(async () => {
    const { rows } = await cluster.pool.query(`select from audit_record where tenant_id = $1 and kind = 'outcome'`, [
      of.id,
    ]);
    expect(rows).toHaveLength(count);
  });
  await seal();
  const { rows } = await cluster.pool.query('select from audit_record where tenant_id = $1', [of.id]);
  return { of, rows: rows.length };
}

async function seal(): Promise<void> {
  const { rows } = await cluster.pool.query<{ seq: string }>('select max(seq) as seq from audit_record');
  await using _ = createTrailSeals({ pool: cluster.pool, leads: () => true, logger: testLogger, ageMs: 10 });
  await eventually(async () => {
    const progress = await cluster.pool.query<{ done: boolean }>(
      'select sealed_to >= $1::bigint as done from audit_progress',
      [rows[0]?.seq],
    );
    expect(progress.rows[0]?.done).toBe(true);
  });
}

test('a change is recorded with who, from where, its outcome, and from what to what', async () => {
  const created = await admin().post('T/variables', { name: 'limit', value: 5 });
  const { id } = created.body.variable;
  await admin().patch(`T/variables/${id}`, { value: 6 });
  await admin().delete(`T/variables/${id}`);

  const history = await eventuallyKnown(() => logs(`assetID=${id}`), 3);
  expect(history.map(({ subType, outcome, changes }) => [subType, outcome, changes[0]?.action])).toEqual([
    ['DELETE', 'success', 'delete'],
    ['PATCH', 'success', 'update'],
    ['POST', 'success', 'create'],
  ]);
  await admin().get(`T/variables?search=limit`);
  await admin().patch(`T/variables/${id}`, { value: 7 });
  await eventually(async () => expect(await logs(`assetID=${id}&status=404`)).toHaveLength(1));
  expect(await logs(`assetID=${id}&changes=true`)).toEqual(history);
  expect((await logs('changes=true')).filter(({ changes }) => changes.length === 0)).toEqual([]);
  const [, patched] = history;
  expect(patched?.changes[0]).toMatchObject({
    assetType: 'variable',
    changes: { value: { from: { is: 5 }, to: { is: 6 } } },
  });
  expect(patched).toMatchObject({
    userID: tenant.creator.id,
    asset: { type: 'variable', id },
    metadata: {
      authType: 'token',
      request: { operation: 'updateVariable', ip: expect.stringContaining('127.0.0.1') },
      response: { statusCode: 200 },
    },
  });
  expect(JSON.stringify(patched)).not.toContain('authorization');
});

test('a change behind the first 2000 characters is seen', async () => {
  const value = 'a'.repeat(3_000);
  const { id } = (await admin().post('T/variables', { name: 'long', value: `${value}1` })).body.variable;
  await admin().patch(`T/variables/${id}`, { value: `${value}2` });
  const [patched] = await logs(`assetID=${id}&method=PATCH`);
  expect(patched?.changes[0]?.changes.value).toEqual({
    from: { _truncated: expect.stringMatching(/^a+1"}$/), _from: 2_807, _length: 3_010 },
    to: { _truncated: expect.stringMatching(/^a+2"}$/), _from: 2_807, _length: 3_010 },
  });
});

test('the trail of a tenant begins with its creation', async () => {
  const { creator } = tenant;
  const created = await cluster
    .as(creator)
    .post('/api/v1/tenants', { tenantTitle: 'New', tenantDBURL: 'postgres://u:pw@127.0.0.1:1/x' });
  const { id } = created.body.tenant;

  const { auditLogs } = (await cluster.as(creator).get(`/api/v1/tenants/${id}/audit?assetID=${id}`)).body;
  expect(auditLogs).toMatchObject([
    {
      type: 'API_REQUEST',
      subType: 'POST',
      success: true,
      userID: creator.id,
      path: '/api/v1/tenants',
      asset: { type: 'tenant', id },
      metadata: { request: { operation: 'createTenant', body: { tenantTitle: 'New' } } },
    },
  ]);
  expect(JSON.stringify(auditLogs)).not.toContain('pw@');
});

async function eventuallyKnown(read: () => Promise<Log[]>, count: number): Promise<Log[]> {
  let found: Log[] = [];
  await eventually(async () => {
    found = await read();
    expect(found).toHaveLength(count);
    expect(found.filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
  });
  return found;
}

test('secrets are in no record: declared, by name, or of an answer', async () => {
  const secret = `hush-${newID()}`;
  await admin().post('T/variables', { name: 'key', value: secret, isSecret: true });
  await admin().post('T/datasources', {
    datasourceTitle: 'D',
    datasourceType: 'postgresql',
    datasourceOptions: { host: 'db.example', password: secret, connectionString: `postgres://u:${secret}@h/d` },
  });
  await admin().post('T/datasources', {
    datasourceTitle: 'R',
    datasourceType: 'restapi',
    datasourceOptions: { url: 'https://api.example', headers: [{ key: 'x-special', value: secret }] },
  });
  await admin().post('T/apikeys', { apiKeyName: 'K', permissions: [] });
  await admin().get(`T/workflows?token=${secret}`);
  await eventually(async () => {
    const found = await logs();
    expect(
      found.filter(({ path, outcome }) => /variables|datasources|apikeys|workflows/.test(path) && outcome !== 'unknown')
        .length,
    ).toBeGreaterThanOrEqual(4);
  });
  const { rows } = await cluster.pool.query<{ text: string }>(`select details::text as text from audit_record`);
  expect(rows.map(({ text }) => text.indexOf(secret)).filter((at) => at >= 0)).toEqual([]);
  expect(rows.some(({ text }) => /"apiKey": "(?!\[REDACTED\])/.test(text))).toBe(false);
});

test('a run is accepted with its entry, in one statement, and a repeated request has an entry of its own', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const headers = { 'idempotency-key': newID() };
  const first = await admin().post(`T/workflows/${workflow.id}/execute`, { args: { a: 1 } }, headers);
  const again = await admin().post(`T/workflows/${workflow.id}/execute`, { args: { a: 1 } }, headers);
  expect(again.body.instanceID).toBe(first.body.instanceID);
  const found = await eventuallyKnown(
    () => logs(`assetID=${workflow.id}&method=POST&path=/api/v1/tenants/${tenant.id}/workflows/${workflow.id}`),
    2,
  );
  expect(found.map(({ success }) => success)).toEqual([true, true]);

  const refused = await admin().post(`T/workflows/${workflow.id}/execute?version=${newID()}`, {});
  expect(refused.status).toBe(404);
  await eventually(async () => {
    const [last] = await logs(`assetID=${workflow.id}&status=404`);
    expect(last).toMatchObject({ success: false, metadata: { response: { error: { code: 'NOT_FOUND' } } } });
  });
});

test('refused requests are recorded, and what strangers try is not', async () => {
  const stranger = await aTenant(cluster);
  const own = await aTenant(cluster);
  await cluster.as(stranger.creator).in(own).get('T/workflows');
  await admin(own).post('T/folders', { folderTitle: 5 });
  await admin(own).get(`T/workflows/${newID()}`);
  const found = await eventuallyKnown(() => logs(`status=failure`, own), 2);
  expect(found.map(({ subType, metadata }) => [subType, metadata.response?.statusCode])).toEqual([
    ['GET', 404],
    ['POST', 400],
  ]);
  expect((await logs('', own)).every(({ userID }) => userID === own.creator.id)).toBe(true);
});

test('filters narrow the list, pages join without a gap, and wrong fields are named', async () => {
  const own = await aTenant(cluster);
  const key = await anApiKey(cluster, { tenant: own });
  let folderID = '';
  for (let n = 0; n < 7; n += 1)
    folderID = (await admin(own).post('T/folders', { folderTitle: `F${n}`, entityType: 'workflow' })).body.folder.id;
  await cluster.withKey(key).in(own).get('T/folders');
  await eventually(async () =>
    expect((await logs(`method=POST&status=success`, own)).length).toBeGreaterThanOrEqual(7),
  );
  await eventually(async () => {
    const byKey = await logs(`apiKeyID=${key.id}`, own);
    expect(byKey).toMatchObject([{ subType: 'GET', metadata: { authType: 'apiKey' } }]);
  });

  await admin(own).patch(`T/folders/${folderID}`, { folderTitle: 'Other' });
  await eventually(async () => expect(await logs('assetType=folder&status=200', own)).toHaveLength(1));
  const now = encodeURIComponent(new Date().toISOString());
  for (const [query, count] of [
    [`method=POST&userID=${own.creator.id}&type=API_REQUEST&status=201&from=2026-01-01T00:00:00Z&to=${now}`, 7],
    [`method=POST&from=${now}`, 0],
    ['method=POST&status=404', 0],
    [`userID=${newID()}`, 0],
    ['type=CRON_TICK', 0],
    ['assetType=variable', 0],
  ] as const)
    expect(await logs(query, own), query).toHaveLength(count);
  const all = await logs('path=/api/v1/tenants/&method=POST', own);
  const joined: Log[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await admin(own).get(
      `T/audit?pageSize=3&method=POST&path=/api/v1/tenants/${cursor && `&cursor=${cursor}`}`,
    );
    joined.push(...body.auditLogs);
    cursor = body.nextCursor;
  }
  expect(joined.map(({ auditLogID }) => auditLogID)).toEqual(all.map(({ auditLogID }) => auditLogID));
  const second = (await admin(own).get('T/audit?pageSize=3&page=2&method=POST&path=/api/v1/tenants/')).body;
  expect(second).toMatchObject({ auditLogsCount: all.length, nextPage: 3 });
  expect(second.auditLogs.map(({ auditLogID }: Log) => auditLogID)).toEqual(
    all.slice(3, 6).map(({ auditLogID }) => auditLogID),
  );

  // Its process has died with it.
  await cluster.pool.query(ADD.replace('200,', 'null,').replace('(1, 2)', '(1, 1)'), [own.id, 0]);
  expect(await logs('status=unknown', own)).toMatchObject([{ outcome: 'unknown', success: null, error: null }]);

  const wrong = await admin(own).get('T/audit?status=maybe&cursor=x&from=yesterday');
  expect(wrong.status).toBe(400);
  expect(wrong.body.error.details.issues.map(({ path }: { path: string[] }) => path[0]).sort()).toEqual([
    'cursor',
    'from',
    'status',
  ]);
  expect(wrong.body.error.message).toContain('or a status such as 404, received "maybe"');
});

test('an export has every entry, as CSV without formulas and as JSON lines', async () => {
  const own = await aTenant(cluster);
  await admin(own).post('T/folders', { folderTitle: '=1+1', entityType: 'workflow' });
  await eventuallyKnown(() => logs('method=POST', own), 1);
  const headers = { authorization: `Bearer ${await cluster.tokenFor(own.creator)}`, 'user-agent': '=cmd()' };
  const get = async (format: string) =>
    (await fetch(`${cluster.baseURL}/api/v1/tenants/${own.id}/audit/export?format=${format}`, { headers })).text();
  const lines = (await get('jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ subType: 'POST', changes: [{ changes: { folderTitle: { to: '=1+1' } } }] });
  await eventually(async () => {
    const csv = await get('csv');
    expect(csv.split('\r\n')[0]).toMatch(/^createdAt,auditLogID,type,subType,path,status/);
    expect(csv).toContain(`'=cmd()`);
  });
  // A text would be read without the mark.
  const marked = await fetch(`${cluster.baseURL}/api/v1/tenants/${own.id}/audit/export?bom=true`, { headers });
  expect([...new Uint8Array(await marked.arrayBuffer()).subarray(0, 4)]).toEqual([0xef, 0xbb, 0xbf, 0x63]);
});

test('an export reads as far ahead as its client takes it, however long the trail is', async () => {
  const { id, creator } = await aTenant(cluster);
  await cluster.pool.query(LONG_TRAIL, [id, 10_000]);
  using queries = vi.spyOn(cluster.context.pool, 'query');
  const batches = () => queries.mock.calls.filter(([sent]) => JSON.stringify(sent).includes('limit 501')).length;
  const headers = { authorization: `Bearer ${await cluster.tokenFor(creator)}` };
  const answer = await fetch(`${cluster.baseURL}/api/v1/tenants/${id}/audit/export?format=jsonl`, { headers });
  // It has filled what the connection holds, and waits.
  let [ahead, looks] = [0, 0];
  await eventually(() => {
    looks = batches() === ahead ? looks + 1 : 0;
    ahead = batches();
    expect(ahead > 0 && looks > 20).toBe(true);
  });
  let lines = 0;
  for await (const piece of answer.body ?? []) lines += Buffer.from(piece).filter((byte) => byte === 10).length;

  expect(ahead).toBeLessThan(10);
  expect(batches()).toBeGreaterThanOrEqual(20);
  expect(lines).toBe(10_000);
});

test('of an entry with many changes a page has some, the history of an asset its own, and an export all', async () => {
  const { id, creator } = await aTenant(cluster);
  const of = { id, creator };
  const { rows } = await cluster.pool.query<{ asset_id: string }>(MANY_CHANGES, [id, 30]);
  const last = rows.at(-1)?.asset_id;
  const [listed] = await logs('', of);
  const [found] = await logs(`assetID=${last}`, of);
  const headers = { authorization: `Bearer ${await cluster.tokenFor(creator)}` };
  const exported = await fetch(`${cluster.baseURL}/api/v1/tenants/${id}/audit/export?format=jsonl`, { headers });
  const [line = ''] = (await exported.text()).split('\n').filter((text) => text.includes('"changeCount":30'));

  expect([listed?.changes.length, listed?.changeCount]).toEqual([20, 30]);
  expect(found?.changes.map(({ assetID }) => assetID)).toContain(last);
  expect(found?.changes).toHaveLength(20);
  expect(JSON.parse(line).changes.map(({ assetID }: { assetID: string }) => assetID)).toEqual(
    rows.map(({ asset_id }) => asset_id),
  );
});

const MANY_CHANGES = `
with entry as (
  insert into audit_record (id, tenant_id, kind, type, action, status, details, created_at)
  values (uuidv7(), $1, 'entry', 'API_REQUEST', 'POST', 200, '{}', now()) returning id)
insert into audit_record (id, tenant_id, kind, entry_id, type, action, asset_type, asset_id, details, created_at)
select uuidv7(), $1, 'change', entry.id, 'API_REQUEST', 'create', 'widget', uuidv7(), '{"changes": {}}', now() from entry, generate_series(1, $2)
returning asset_id`;

const LONG_TRAIL = `
insert into audit_record (id, tenant_id, kind, type, action, status, details, created_at)
select uuidv7(), $1, 'entry', 'API_REQUEST', 'GET', 200, jsonb_build_object('text', repeat('x', 4000)), now() from generate_series(1, $2)`;

test('seals verify; a row that is changed, removed, added or moved is found, and a seal that was stored elsewhere', async () => {
  using logged = vi.spyOn(testLogger, 'info');
  const { of, rows } = await sealedTenant(3);
  expect(await verify(of)).toMatchObject({ isIntact: true, rows: expect.any(Number), problem: null });
  expect((await verify(of)).rows).toBeGreaterThanOrEqual(rows - 1);
  const { seals } = (await admin(of).get('T/audit/seals')).body;
  // A log is outside of the database.
  const { number, hash } = seals[0];
  expect(logged).toHaveBeenCalledWith({ tenantID: of.id, number, hash }, 'audit trail sealed');
  expect(await verify(of, `number=${seals[0].number}&hash=${seals[0].hash}`)).toMatchObject({ isIntact: true });
  expect(await verify(of, `number=${seals[0].number}&hash=${'0'.repeat(64)}`)).toMatchObject({ isIntact: false });

  const tampering = [
    `update audit_record set status = 200, details = '{}' where tenant_id = $1 and seq = (select min(seq) from audit_record where tenant_id = $1)`,
    'delete from audit_record where tenant_id = $1 and seq = (select min(seq) from audit_record where tenant_id = $1)',
    `insert into audit_record (seq, id, tenant_id, kind, type, action, details, created_at) overriding system value
     select min(seq) - 1, uuidv7(), tenant_id, 'entry', 'API_REQUEST', 'GET', '{}', now() from audit_record where tenant_id = $1 group by tenant_id`,
    `with two as (select seq, lead(seq) over (order by seq) as other from audit_record where tenant_id = $1 order by seq limit 1)
     update audit_record r set id = uuidv7() from two where r.tenant_id = $1 and r.seq = two.other`,
    // The first two change places; each is as it was.
    `with two as (delete from audit_record where tenant_id = $1 and seq in
       (select seq from audit_record where tenant_id = $1 order by seq limit 2) returning *),
     swapped as materialized (select two.*, sum(seq) over () - seq as other from two)
     insert into audit_record (seq, id, tenant_id, kind, entry_id, type, action, user_id, api_key_id, path, asset_type, asset_id,
       status, duration_ms, details, created_at) overriding system value
     select other, id, tenant_id, kind, entry_id, type, action, user_id, api_key_id, path, asset_type, asset_id,
       status, duration_ms, details, created_at from swapped order by other`,
    `update audit_seal set hash = sha256('other') where tenant_id = $1 and number = 1`,
  ];
  for (const statement of tampering) {
    const { of: victim } = await sealedTenant(2);
    expect(await verify(victim)).toMatchObject({ isIntact: true });
    await cluster.pool.query(statement, [victim.id]);
    expect(await verify(victim), statement).toMatchObject({ isIntact: false, problem: { number: 1 } });
  }
});

test('a row whose transaction is slow is sealed when it is there', async () => {
  const own = await aTenant(cluster);
  const client = await cluster.pool.connect();
  try {
    await client.query('begin');
    await client.query(
      `insert into audit_record (id, tenant_id, kind, type, action, details, created_at) values ($1, $2, 'entry', 'API_REQUEST', 'GET', '{}', now())`,
      [newID(), own.id],
    );
    await admin(own).post('T/folders', { folderTitle: 'F', entityType: 'workflow' });
    await using _ = createTrailSeals({ pool: cluster.pool, leads: () => true, logger: testLogger, ageMs: 10 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await client.query('commit');
  } finally {
    client.release();
  }
  await seal();
  expect((await admin(own).get('T/audit/verify')).body).toMatchObject({ isIntact: true });
});

const ADD = `insert into audit_record (id, tenant_id, kind, type, action, status, details, created_at)
  select uuidv7(), $1, 'entry', 'API_REQUEST', 'GET', 200, '{}', now() - make_interval(days => $2) from generate_series(1, 2)`;

/** A new tenant with a seal of two rows for each age in days. */
async function withSeals(...ages: number[]): Promise<TestTenant> {
  const of = await aTenant(cluster);
  for (const age of ages) {
    // A number that no row has, before those of each seal.
    await cluster.pool.query(`select nextval(pg_get_serial_sequence('audit_record', 'seq'))`);
    await cluster.pool.query(ADD, [of.id, age]);
    await seal();
  }
  expect(await verify(of)).toMatchObject({ isIntact: true, seals: ages.length, rows: 2 * ages.length });
  return of;
}

const ROWS = `r.tenant_id = s.tenant_id and r.seq > s.from_seq and r.seq <= s.to_seq`;
/** Changes that an administrator of the database can make who knows how seals are made. */
const changeRows = (number: number) =>
  `update audit_record r set details = '{"other": true}' from audit_seal s where s.tenant_id = $1 and s.number = ${number} and ${ROWS}`;
const removeSeal = (number: number) => `
with removed as (delete from audit_seal where tenant_id = $1 and number = ${number} returning *)
delete from audit_record r using removed s where ${ROWS}`;
const fitContent = (number: number) => `
update audit_seal s set content_hash = (
  select sha256(string_agg(sha256(convert_to(jsonb_build_array(r.seq, r.id, r.kind, r.entry_id, r.type, r.action, r.user_id, r.api_key_id,
    r.path, r.asset_type, r.asset_id, r.status, r.duration_ms, r.details, extract(epoch from r.created_at))::text, 'UTF8')), ''::bytea order by r.seq))
  from audit_record r where ${ROWS})
where s.tenant_id = $1 and s.number = ${number}`;
const fitHash = (number: number, before: number) => `
update audit_seal s set hash = sha256(coalesce((select hash from audit_seal where tenant_id = $1 and number = ${before}), ''::bytea) || int4send(number)
  || int8send(from_seq) || int8send(to_seq) || int4send(row_count) || content_hash || int8send((extract(epoch from newest_at) * 1000)::bigint))
where tenant_id = $1 and number = ${number}`;

test.each<[string, number, string[]]>([
  ['a seal that was removed with its rows', 3, [removeSeal(2)]],
  ['one before a seal that was made to fit', 3, [removeSeal(2), fitHash(3, 1)]],
  ['the first one', 2, [removeSeal(1)]],
  ['a seal of other rows', 2, [changeRows(2), fitContent(2)]],
  ['one that was made to fit the seal before it', 3, [changeRows(2), fitContent(2), fitHash(2, 1)]],
  [
    'one that begins later than the seal before it ends',
    3,
    ['update audit_seal set from_seq = from_seq + 1 where tenant_id = $1 and number = 3', fitHash(3, 2)],
  ],
  [
    'seals that have changed places',
    1,
    [1, 2, -2].map(
      (number) =>
        `update audit_seal set number = ${number === 1 ? -2 : number === 2 ? 1 : 2} where tenant_id = $1 and number = ${number}`,
    ),
  ],
])('between seals, %s is found', async (_, number, statements) => {
  const of = await withSeals(0, 0, 0);
  for (const statement of statements) await cluster.pool.query(statement, [of.id]);
  expect(await verify(of)).toMatchObject({ isIntact: false, problem: { number } });
});

test('a burst of one tenant keeps the rows of another waiting for no further round', async () => {
  const [busy, other] = [await aTenant(cluster), await aTenant(cluster)];
  const burst = ADD.replace('generate_series(1, 2)', 'generate_series(1, 12000)');
  await cluster.pool.query(burst, [busy.id, 0]);
  await cluster.pool.query(ADD, [other.id, 0]);
  // The first round sets the mark, the second one seals up to it.
  await using _ = createTrailSeals({ pool: cluster.pool, leads: () => true, logger: testLogger, ageMs: 2_000 });
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ n: number }>(
      'select count(*)::int as n from audit_seal where tenant_id = any($1) group by tenant_id order by n',
      [[busy.id, other.id]],
    );
    expect(rows[0]).toEqual({ n: 1 });
    expect(rows[1]?.n).toBeGreaterThan(1);
  });
  expect(await verify(busy)).toMatchObject({ isIntact: true, rows: 12_000 });
});

const DAY_MS = 86_400_000;

async function retire(minAuditMs = DAY_MS, pool: Pick<Pool, 'query'> = cluster.pool): Promise<void> {
  while ((await retireTrails(pool, { auditMs: 90 * DAY_MS, minAuditMs, maxAuditMs: 400 * DAY_MS })) > 0);
}

test('old entries are deleted with their seals, as long as their tenant keeps them', async () => {
  const [short, long] = [await withSeals(100, 100), await withSeals(100)];
  await admin(long).patch('T/audit/retention', { days: 200 });
  for (const days of [1, 500])
    expect((await admin(long).patch('T/audit/retention', { days })).body.error.message).toBe(
      `days: must be 2 to 400 in this deployment, received ${days}`,
    );
  const oldRows = async ({ id }: TestTenant, query: Pick<Pool, 'query'> = cluster.pool) =>
    (
      await query.query(`select from audit_record where tenant_id = $1 and created_at < now() - interval '50 days'`, [
        id,
      ])
    ).rows.length;
  // The worker of the cluster retires trails as well, by a lower minimum. It waits for this transaction.
  await inTransaction(cluster.pool, async (client) => {
    await client.query('lock table audit_seal in share row exclusive mode');
    await admin(short).patch('T/audit/retention', { days: 3 });
    await retire(150 * DAY_MS, client);
    expect([await oldRows(short, client), await oldRows(long, client)]).toEqual([4, 2]);
    await admin(short).patch('T/audit/retention', { days: null });
  });
  await retire();
  expect([await oldRows(short), await oldRows(long)]).toEqual([0, 2]);
  expect(await verify(short)).toMatchObject({ isIntact: true });
  expect(await verify(long)).toMatchObject({ isIntact: true });

  // Entries that were deleted under a shorter retention are not missing.
  await admin(short).patch('T/audit/retention', { days: 200 });
  await seal();
  expect(await verify(short)).toMatchObject({ isIntact: true });
});

test('after all seals of a tenant were retired, the numbers go on', async () => {
  const of = await withSeals(100, 100);
  const stored = (await admin(of).get('T/audit/seals')).body.seals;
  await retire();
  expect((await admin(of).get('T/audit/seals')).body.seals).toEqual([]);
  await cluster.pool.query(ADD, [of.id, 0]);
  await seal();
  expect((await admin(of).get('T/audit/seals?after=2')).body.seals[0]).toMatchObject({ number: 3 });
  expect(await verify(of, `number=2&hash=${stored[1].hash}`)).toMatchObject({ isIntact: true });
});

test.each<[string, number, string[]]>([
  ['other rows of the oldest seal', 2, [changeRows(2), fitContent(2)]],
  [
    'a row below the oldest seal',
    1,
    [
      `insert into audit_record (seq, id, tenant_id, kind, type, action, details, created_at) overriding system value
     select to_seq, uuidv7(), tenant_id, 'entry', 'API_REQUEST', 'GET', '{}', now() from audit_seal where tenant_id = $1 and number = 1`,
    ],
  ],
  [
    'a seal that retires before its time',
    2,
    [
      `with removed as (delete from audit_record r using audit_seal s where s.tenant_id = $1 and s.number = 2 and ${ROWS})
     update audit_seal s set retired_at = now(), previous_hash = (select hash from audit_seal where tenant_id = $1 and number = 1)
     where tenant_id = $1 and number = 2`,
      'delete from audit_seal where tenant_id = $1 and number = 1',
    ],
  ],
])('after retention, %s is found', async (_, number, statements) => {
  const of = await withSeals(100, 0, 0);
  await retire();
  expect(await verify(of)).toMatchObject({ isIntact: true, seals: 2 });
  for (const statement of statements) await cluster.pool.query(statement, [of.id]);
  expect(await verify(of)).toMatchObject({ isIntact: false, problem: { number } });
  // Nor if the seal is said to be old.
  await cluster.pool.query(
    `update audit_seal set newest_at = now() - interval '100 days' where tenant_id = $1 and number = 2`,
    [of.id],
  );
  expect(await verify(of)).toMatchObject({ isIntact: false, problem: { number } });
});

test('what changes at once is recorded as one chain', async () => {
  const own = await aTenant(cluster);
  const given = [1, 2, 3, 4, 5, 6, 7, 8];
  const settings = {
    'T/dispatch': (n: number) => ({ maxRuns: n }),
    'T/retention': (n: number) => ({ days: n }),
    'T/audit/retention': (n: number) => ({ days: n + 1 }),
  };
  for (const [path, bodyOf] of Object.entries(settings))
    await Promise.all(given.map((n) => admin(own).patch(path, bodyOf(n))));

  const { rows } = await cluster.pool.query<{ name: string; from: unknown; to: unknown }>(
    `select c.key as name, c.value -> 'from' as "from", c.value -> 'to' as "to"
     from audit_record r, jsonb_each(r.details -> 'changes') c where r.tenant_id = $1 and r.kind = 'change' order by r.seq`,
    [own.id],
  );
  const chains = Object.values(Object.groupBy(rows, ({ name }) => name));
  // The dispatch settings have the tenant's own limit, and the one that is in force.
  expect(chains.map((chain) => chain?.length)).toEqual([8, 8, 8, 8]);
  for (const chain of chains)
    for (const [index, { from }] of chain?.entries() ?? []) if (index > 0) expect(from).toEqual(chain?.[index - 1]?.to);
});

test('changes by statements of our own are recorded from what to what', async () => {
  const own = await aTenant(cluster);
  const api = admin(own);
  const workflow = await aWorkflow(cluster, { tenant: own });
  const member = await aMember(cluster, { tenant: own });
  const listener = await aListener(cluster, { tenant: own, status: 'inactive' });
  const { id: folderID } = (await api.post('T/folders', { folderTitle: 'F', entityType: 'workflow' })).body.folder;
  await api.post('T/folders/move', { entityType: 'workflow', entityIDs: [workflow.id], folderID });
  await api.delete(`T/folders/${folderID}`);
  await api.post(`T/workflows/${workflow.id}/pause`);
  await api.post('T/intake/pause');
  await api.post(`T/listeners/${listener.id}/activate`);
  await api.patch(`T/users/${member.id}/roles`, { roleIDs: [], userTenantRelationship: 'ADMIN' });
  await api.delete(`T/users/${member.id}`);
  await api.patch('T/retention', { days: 5 });
  await api.patch('T/audit/retention', { days: 30 });
  await api.patch('T/dispatch', { maxRuns: 5 });

  const time = expect.stringMatching(/^\d{4}-/);
  const changesOf = async (id: string) => (await logs(`assetID=${id}`, own)).flatMap(({ changes }) => changes);
  expect((await changesOf(workflow.id)).filter(({ assetType }) => assetType === 'workflow')).toMatchObject([
    { changes: { pausedAt: { from: null, to: time } } },
    { changes: { folderID: { from: folderID, to: null } } },
    { changes: { folderID: { from: null, to: folderID } } },
  ]);
  expect(await changesOf(listener.id)).toMatchObject([{ changes: { status: { from: 'inactive', to: 'active' } } }]);
  expect(await changesOf(member.id)).toMatchObject([
    { action: 'delete', changes: { userEmail: { from: member.email }, userTenantRelationship: { from: 'ADMIN' } } },
    { action: 'update', changes: { userTenantRelationship: { from: 'MEMBER', to: 'ADMIN' } } },
  ]);
  expect(await changesOf(own.id)).toMatchObject([
    { changes: { ownRuns: { from: null, to: 5 } } },
    { changes: { auditDays: { from: null, to: 30 } } },
    { changes: { runRetention: { to: { days: 5 } } } },
    { changes: { pausedAt: { from: null, to: time } } },
  ]);
});
