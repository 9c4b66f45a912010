import { pino } from 'pino';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tokenOf } from '#shared/runs/form-links.ts';
import { findChromium } from '../../../servers/chromium.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aDataQuery,
  aMember,
  anApiKey,
  aTenant,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '../../../support/factories.ts';
import { graph } from '../../../support/graphs.ts';
import { startHTTP } from '../../../support/http-server.ts';
import { expectIcon } from '../../../support/icon.ts';
import { eventually } from '../../../support/settle.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The tests of forms in a browser are skipped: ${found.reason}\n`);

let cluster: Cluster;
let tenant: TestTenant;
let manager: TestUser;
let reader: TestUser;
const log: string[] = [];

beforeAll(async () => {
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(line) });
  cluster = await startCluster({ workers: true, logger });
  tenant = await aTenant(cluster);
  manager = await aMember(cluster, { tenant, can: ['workflow.execute', 'workflow.read'] });
  reader = await aMember(cluster, { tenant, can: ['workflow.read'] });
});

afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);
const approve = { submittedData: { decision: 'approve' } };

type Node = { type: string; [field: string]: unknown };
const approval: Node = { type: 'approval', answerByLink: true, outputVariable: 'value' };

/** Starts a run that asks. Returns the ids of the run and of the request. */
async function asked(ask: Node = approval, more: Record<string, Node> = {}, edges: string[] = ['start>ask']) {
  const shape = graph(
    {
      start: { type: 'start' },
      ...more,
      ask,
      end: { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.value}}' }] },
    },
    [
      ...edges,
      ...(ask.type === 'approval' ? ['ask:approved>end', 'ask:rejected>end', 'ask:expired>end'] : ['ask>end']),
    ],
  );
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { body } = await as(tenant.creator).post(`T/workflows/${id}/execute`, {});
  const instanceID = String(body.instanceID);
  let requestID = '';
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ id: string }>(
      'select id from collection_request where instance_id = $1',
      [instanceID],
    );
    requestID = rows[0]?.id ?? expect.fail('nothing is asked');
  });
  return { instanceID, requestID };
}

async function shown(requestID: string, user = manager): Promise<string | null> {
  const { status, body } = await as(user).get(`T/workflows/data-collection/${requestID}`);
  expect(status).toBe(200);
  return body.request.answerURL;
}

/** A link as it works in tests: under the address that the service really has. */
async function linkTo(requestID: string): Promise<string> {
  const url = (await shown(requestID)) ?? expect.fail('there is no link');
  expect(url).toMatch(/^https:\/\/api\.gantry\.test\/api\/v1\/forms\//);
  return here(url);
}
const here = (url: string) => `${cluster.baseURL}${new URL(url).pathname}`;

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
async function call(url: string, body?: object, accept = 'application/json'): Promise<{ status: number; body: any }> {
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { accept, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: accept.includes('html') ? text : JSON.parse(text) };
}

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** As a browser sends the form of a page that runs no script. */
async function send(link: string, fields: string | Record<string, string>) {
  const page = await (await fetch(link, { headers: { accept: BROWSER } })).text();
  const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(page) ?? [];
  const response = await fetch(new URL(action || 'page', action ? link : `${link}/`), {
    method: 'POST',
    headers: { accept: BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  expect(response.headers.get('content-type')).toContain('text/html');
  return { status: response.status, page: await response.text() };
}

async function ended(instanceID: string) {
  const read = () => as(tenant.creator).get(`T/workflows/instances/${instanceID}`);
  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await read()).body.status));
  return (await read()).body;
}

async function aClient() {
  const client = await cluster.pool.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.release() });
}

async function waitingForLocks(): Promise<number> {
  const { rows } = await cluster.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%collection_request%'`,
  );
  return rows[0]?.count ?? 0;
}

const isSuccessOf =
  (node: string) =>
  ({ nodeID, status }: { nodeID: string; status: string }) =>
    nodeID === node && status === 'SUCCESS';

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });

describe('a link', () => {
  test('shows what its holder needs, takes one answer without a sign-in, and the run goes on', async () => {
    const formSchema = { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] };
    const { instanceID, requestID } = await asked({
      type: 'dataCollection',
      answerByLink: true,
      title: 'Which size?',
      description: 'For the order',
      approvers: [manager.id],
      formSchema,
      outputVariable: 'value',
      expiryMinutes: 0,
    });
    const link = await linkTo(requestID);

    const { status, body } = await call(link);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        success: true,
        form: {
          collectionType: 'form',
          title: 'Which size?',
          description: 'For the order',
          fields: [],
          formSchema,
          expiresAt: expect.any(String),
        },
      },
    });
    // A week, although the question itself waits for ever.
    expect(Date.parse(body.form.expiresAt) - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect((await call(link, { submittedData: { size: 'large' } })).body.error.message).toContain('submittedData.size');

    expect(await call(link, { submittedData: { size: 4, more: 1 } })).toMatchObject({ status: 200 });
    expect(await ended(instanceID)).toMatchObject({ status: 'COMPLETED', output: { value: { size: 4 } } });
    expect(await call(link, { submittedData: { size: 5 } })).toMatchObject(refusal(409, 'CONFLICT'));
    expect(await call(link)).toMatchObject(refusal(409, 'CONFLICT'));
    const { body: read } = await as(manager).get(`T/workflows/data-collection/${requestID}`);
    expect(read.request).toMatchObject({ status: 'COMPLETED', submittedBy: null, answerURL: null });
  });

  test('leaves an entry in the trail of the tenant, which does not tell the link', async () => {
    const { instanceID, requestID } = await asked();
    const link = await linkTo(requestID);
    const body = JSON.stringify({ submittedData: { decision: 'approve', comment: 'seen' } });
    const headers = { 'content-type': 'application/json', referer: link, 'x-original-uri': new URL(link).pathname };
    expect((await fetch(link, { method: 'POST', headers, body })).status).toBe(200);
    await ended(instanceID);

    const { rows } = await cluster.pool.query(
      `select kind, action, user_id, path, details from audit_record where tenant_id = $1 and asset_id = $2`,
      [tenant.id, requestID],
    );
    expect(rows).toMatchObject([
      {
        ...{ kind: 'entry', action: 'POST', user_id: null, path: '/api/v1/forms/:token' },
        details: { request: { operation: 'submitForm', body: { submittedData: { comment: 'seen' } } } },
      },
    ]);
    expect(JSON.stringify(rows)).not.toContain(tokenOf(link));
  });

  test('is shown to those who may answer, and only if the node allows it', async () => {
    const { requestID } = await asked({ ...approval, approvers: manager.id });
    const without = await asked({ type: 'approval' });

    expect(await shown(requestID)).toContain('/api/v1/forms/');
    expect(await shown(requestID, reader)).toBeNull();
    expect(await shown(requestID, tenant.creator)).toBeNull();
    const key = await anApiKey(cluster, { tenant, creator: manager, can: ['workflow.execute', 'workflow.read'] });
    const byKey = await cluster.withKey(key).in(tenant).get(`T/workflows/data-collection/${requestID}`);
    expect(byKey.body.request.answerURL).toBeNull();
    expect(await shown(without.requestID)).toBeNull();
    const { body } = await as(manager).get('T/workflows/data-collection?status=PENDING&limit=100');
    const urls = new Map(
      body.requests.map((each: { collectionRequestID: string; answerURL: string | null }) => [
        each.collectionRequestID,
        each.answerURL,
      ]),
    );
    expect([urls.get(requestID), urls.get(without.requestID)]).toEqual([await shown(requestID), null]);
  });

  test('of a node that allows none does not work, even if it is signed', async () => {
    const { instanceID } = await asked({ type: 'approval' });

    const url = here(
      cluster.context.runs.formLinks.urlOf({ tenantID: tenant.id, instanceID, nodeID: 'ask', path: '0' }),
    );
    expect(await call(url)).toMatchObject(refusal(409, 'CONFLICT'));
    expect(await call(url, approve)).toMatchObject(refusal(409, 'CONFLICT'));
  });

  test('is used once: of answers at once, by link and signed in, one wins', async () => {
    const { instanceID, requestID } = await asked();
    const link = await linkTo(requestID);
    const answer = (comment: string) => ({ submittedData: { decision: 'approve', comment } });
    // They all find the request open, and then wait for its row.
    await using locked = await aClient();
    await locked.query('begin');
    await locked.query('select from collection_request where id = $1 for update', [requestID]);

    const answered = Promise.all([
      ...['a', 'b', 'c'].map((comment) => call(link, answer(comment))),
      ...['d', 'e'].map((comment) =>
        as(manager).post(`T/workflows/data-collection/${requestID}/submit`, answer(comment)),
      ),
    ]);
    await eventually(async () => expect(await waitingForLocks()).toBeGreaterThan(1));
    await locked.query('commit');
    const answers = await answered;

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    const won = ['a', 'b', 'c', 'd', 'e'][answers.findIndex(({ status }) => status === 200)];
    expect(await ended(instanceID)).toMatchObject({ output: { value: { approved: true, comment: won } } });
  });

  test('ends with the run, with the question, and after its own time', async () => {
    const [cancelled, late, old] = [await asked(), await asked(), await asked({ ...approval, linkExpiryMinutes: 10 })];
    const links = await Promise.all([cancelled, late, old].map(({ requestID }) => linkTo(requestID)));
    const { pool } = cluster;

    await as(manager).delete(`T/workflows/instances/${cancelled.instanceID}/stop`);
    await pool.query(`update collection_request set expires_at = now() where id = $1`, [late.requestID]);
    await pool.query(`update collection_request set created_at = now() - interval '10 minutes' where id = $1`, [
      old.requestID,
    ]);

    for (const link of links) {
      expect(await call(link)).toMatchObject(refusal(409, 'CONFLICT'));
      expect(await call(link, approve)).toMatchObject(refusal(409, 'CONFLICT'));
    }
    expect(await shown(old.requestID)).toBeNull();
    // The question itself is still open for those who sign in.
    const signedIn = await as(manager).post(`T/workflows/data-collection/${old.requestID}/submit`, approve);
    expect(signedIn.status).toBe(200);
  });

  test('that expires after it was found open, and before its answer is stored, takes none', async () => {
    const { instanceID, requestID } = await asked({ ...approval, linkExpiryMinutes: 10 });
    const link = await linkTo(requestID);
    await using locked = await aClient();
    await locked.query('begin');
    await locked.query(
      `update collection_request set created_at = now() - interval '10 minutes 1 second' where id = $1`,
      [requestID],
    );

    const answered = call(link, approve);
    await eventually(async () => expect(await waitingForLocks()).toBe(1));
    await locked.query('commit');

    expect(await answered).toMatchObject(refusal(409, 'CONFLICT'));
    const signedIn = await as(manager).post(`T/workflows/data-collection/${requestID}/submit`, approve);
    expect(signedIn.status).toBe(200);
    expect(await ended(instanceID)).toMatchObject({ output: { value: { approved: true } } });
  });

  test('that was altered, or whose run was deleted, gets the answer of a link that was never issued', async () => {
    const { instanceID, requestID } = await asked();
    const link = await linkTo(requestID);
    const token = tokenOf(link);
    const unknown = await call(`${cluster.baseURL}/api/v1/forms/nothing`);
    const other = { tenantID: (await aTenant(cluster)).id, instanceID, nodeID: 'ask', path: '0' };
    const urls = [
      link.replace(token, `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`),
      link.replace(token, `A${token.slice(1)}`),
      here(cluster.context.runs.formLinks.urlOf(other)),
      here(cluster.context.runs.formLinks.urlOf({ ...other, tenantID: tenant.id, instanceID: other.tenantID })),
    ];

    expect(unknown).toMatchObject(refusal(404, 'NOT_FOUND'));
    for (const url of urls) {
      expect(await call(url)).toEqual(unknown);
      expect(await call(url, approve)).toEqual(unknown);
    }
    expect(await call(link, approve)).toMatchObject({ status: 200 });
  });

  test('is a page for a browser, which escapes what the workflow says', async () => {
    const fields = [
      { key: 'size', label: 'Size', fieldType: 'dropdown', options: ['<small>', 'large'], required: true },
      { key: 'gift', fieldType: 'checkbox' },
    ];
    const { requestID } = await asked({
      type: 'dataCollection',
      answerByLink: true,
      title: 'A <b> question',
      fields,
      outputVariable: 'value',
    });
    const link = await linkTo(requestID);
    const html = 'text/html,application/xhtml+xml,*/*;q=0.8';

    const page = await fetch(link, { headers: { accept: html } });
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    await expectIcon(link, { accept: html });
    const text = await page.text();
    expect(text).toContain('A &#60;b&#62; question');
    expect(text).toContain('<select name="size" data-as="text" required>');
    expect(text).toContain('&#60;small&#62;');
    expect(text).toContain('<input type="checkbox" name="gift"');

    await call(link, { submittedData: { size: 'large' } });
    const closed = await call(link, undefined, html);
    expect([closed.status, closed.body]).toEqual([409, expect.stringContaining('has been answered already')]);
    const unknown = await call(`${cluster.baseURL}/api/v1/forms/nothing`, undefined, html);
    expect([unknown.status, unknown.body]).toEqual([404, expect.stringContaining('There is no form at this link')]);
  });

  test('shows a browser every error as a page, and programs get JSON', async () => {
    const paths = [
      'forms',
      'forms/',
      'forms/a/b',
      'forms/%ff',
      'oauth/unknown/callback',
      'oauth/google/callback?state=1&state=2',
    ];
    for (const path of paths) {
      const url = `${cluster.baseURL}/api/v1/${path}`;
      const page = await fetch(url, { headers: { accept: BROWSER } });
      expect({ path, type: page.headers.get('content-type') }).toEqual({ path, type: 'text/html; charset=utf-8' });
      expect(page.headers.get('content-security-policy')).toContain("script-src 'none'");
      expect(await page.text()).toMatch(/<p role="alert">[^<]{10,}<\/p>/);
      const program = await fetch(url);
      expect([page.status, program.headers.get('content-type')]).toEqual([
        program.status,
        expect.stringContaining('application/json'),
      ]);
    }
    const other = await fetch(`${cluster.baseURL}/api/v1/tenants`, { headers: { accept: BROWSER } });
    expect(other.headers.get('content-type')).toContain('application/json');
  });

  test('takes the fields of its page from a browser without a script, and shows a wrong one what it had sent', async () => {
    const fields = [
      { key: 'amount', fieldType: 'number', required: true },
      { key: 'exact', fieldType: 'number' },
      { key: 'reason', fieldType: 'long text' },
      { key: 'size', fieldType: 'dropdown', options: ['small', 'large'] },
      { key: 'gift', fieldType: 'checkbox' },
      { key: 'paid', fieldType: 'checkbox' },
    ];
    const { instanceID, requestID } = await asked({
      ...{ type: 'dataCollection', answerByLink: true, fields, outputVariable: 'value' },
    });
    const link = await linkTo(requestID);
    const sent = { amount: 'many', exact: '12345678901234567890.5', reason: '\nA "b"\n', size: 'large', gift: 'on' };

    const refused = await send(link, sent);
    expect([refused.status, refused.page]).toEqual([
      400,
      expect.stringContaining('role="alert">amount: expected a number'),
    ]);
    for (const filled of [
      'value="many"',
      '>\n\nA &#34;b&#34;\n</textarea>',
      '<option value="large" selected>',
      ' checked> gift',
    ])
      expect(refused.page).toContain(filled);
    expect(refused.page).not.toMatch(/ checked> paid|<script>/);
    const taken = await send(link, { ...sent, amount: '12.50' });
    expect([taken.status, taken.page]).toEqual([200, expect.stringContaining('Answer received')]);

    const { output } = await ended(instanceID);
    expect(output.value).toEqual({
      ...{ amount: 12.5, exact: '12345678901234567890.5', reason: '\nA "b"\n', size: 'large', gift: true, paid: false },
    });
    const again = await send(link, sent);
    expect([again.status, again.page]).toEqual([409, expect.stringContaining('has been answered already')]);
    const { rows } = await cluster.pool.query<{ details: { request: { operation: string } }; path: string }>(
      'select details, path from audit_record where tenant_id = $1 and asset_id = $2',
      [tenant.id, requestID],
    );
    expect(rows.map(({ details, path }) => [details.request.operation, path])).toEqual(
      Array(2).fill(['submitFormPage', '/api/v1/forms/:token/page']),
    );
  });

  test('takes the fields of a schema, and of a form without one, from a browser without a script', async () => {
    const properties = { n: { type: 'integer' }, b: { type: 'boolean' }, j: {} };
    const formSchema = { type: 'object', properties };
    const one = await asked({ type: 'dataCollection', answerByLink: true, formSchema, outputVariable: 'value' });
    const link = await linkTo(one.requestID);
    const bodies: [string, string][] = [
      ['j=%7B', 'j: expected JSON'],
      ['j=12345678901234567890', 'is more than a JSON number holds'],
      ['n=1.5', 'role="alert">n: '],
    ];
    for (const [body, said] of bodies) {
      const { status, page } = await send(link, body);
      expect([status, page]).toEqual([400, expect.stringContaining(said)]);
    }
    expect((await send(link, 'n=4&j=%5B1%5D')).status).toBe(200);
    expect((await ended(one.instanceID)).output.value).toEqual({ n: 4, b: false, j: [1] });

    const any = await asked({ type: 'dataCollection', answerByLink: true, outputVariable: 'value', fields: [] });
    const open = await linkTo(any.requestID);
    expect((await send(open, { answer: '[1]' })).page).toContain('expected an object of JSON');
    expect((await send(open, { answer: '{"a":[1],"__proto__":2}' })).status).toBe(200);
    expect(Object.entries((await ended(any.instanceID)).output.value)).toEqual([
      ['a', [1]],
      ['__proto__', 2],
    ]);
  });
});

test('HTTP nodes and queries send the link before the question is asked; its token is masked in what the run keeps', async () => {
  let before: { status: number } | undefined;
  await using service = await startHTTP(async ({ body }, response) => {
    before = await call(here(JSON.parse(body).link));
    response.setHeader('content-type', 'application/json').end(body);
  });
  const send: Node = {
    type: 'http',
    url: `${service.origin}/mail`,
    method: 'POST',
    body: { link: '{{links.ask}}', text: 'Go to {{links["ask"]}}' },
    outputVariable: 'sent',
  };
  const query = 'select {{inputs.link}}::text as link';
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant, query });
  const ask: Node = { type: 'dataQuery', dataQueryID, inputValues: { link: '{{links.ask}}' }, outputVariable: 'read' };
  const lines = ['start>send', 'send:success>query', 'query:success>ask'];
  const { instanceID, requestID } = await asked(approval, { send, query: ask }, lines);

  const { link, text } = JSON.parse(service.seen[0]?.body ?? '{}');
  expect(text).toBe(`Go to ${link}`);
  expect(here(link)).toBe(await linkTo(requestID));
  expect(before).toMatchObject(refusal(409, 'CONFLICT'));
  expect(await call(here(link), approve)).toMatchObject({ status: 200 });
  const run = await ended(instanceID);
  expect(run).toMatchObject({ status: 'COMPLETED', output: { value: { approved: true } } });
  expect(JSON.stringify(run)).not.toContain(tokenOf(link));
  const { output } = run.timeline.find(isSuccessOf('query'));
  expect(output.read).toEqual([{ link: expect.stringMatching(/\/forms\/•+$/) }]);
  const sent = run.timeline.find(isSuccessOf('send'));
  expect(sent.output.sent.link).toMatch(/\/forms\/•+$/);
});

test('each round of a loop has a link of its own', async () => {
  await using service = await startHTTP();
  const shape = graph(
    {
      start: { type: 'start' },
      each: { type: 'loop', sourceVariable: '{{ctx.input.items}}', outputVariable: 'all' },
      send: { type: 'http', url: `${service.origin}/?to={{links.ask}}`, method: 'POST' },
      ask: approval,
      end: { type: 'end', outputParameters: [{ name: 'all', sourceVariable: '{{ctx.all}}' }] },
    },
    ['start>each', 'each:loop>send', 'send:success>ask', 'each:completed>end'],
  );
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { body } = await as(tenant.creator).post(`T/workflows/${id}/execute`, { args: { items: [1, 2] } });

  for (const round of [0, 1]) {
    await eventually(() => expect(service.seen.length).toBe(round + 1));
    const link = here(new URL(service.seen[round]?.url ?? '', service.origin).searchParams.get('to') ?? '');
    const comment = `round ${round}`;
    await eventually(async () =>
      expect(await call(link, { submittedData: { decision: 'approve', comment } })).toMatchObject({ status: 200 }),
    );
  }
  expect((await ended(body.instanceID)).output.all).toEqual([
    { approved: true, comment: 'round 0' },
    { approved: true, comment: 'round 1' },
  ]);
});

test('a link to a node that takes no answers by link, or where it cannot be masked, is refused when it is saved', async () => {
  const save = async (more: Record<string, Node>, edges: string[]) => {
    const { nodes, edges: lines } = graph({ start: { type: 'start' }, ...more }, edges);
    const { status, body } = await as(tenant.creator).post('T/workflows', {
      title: 'Links',
      workflowNodes: nodes,
      workflowEdges: lines,
    });
    return status === 201 ? null : body.error.message;
  };
  const send = (url: string, more: object = {}): Node => ({ type: 'http', url, ...more });
  const line = ['start>send', 'send:success>ask', 'ask:expired>late'];
  const late: Node = { type: 'end' };

  expect(await save({ send: send('https://a.test/{{links.ask}}'), ask: approval, late }, line)).toBeNull();
  const plain: Node = { type: 'approval' };
  expect(await save({ send: send('https://a.test/{{links.ask}}'), ask: plain, late }, line)).toContain(
    'workflowNodes.1.data.url: the node "ask" does not take answers by link',
  );
  expect(await save({ send: send('https://a.test/{{links.asks}}'), ask: approval, late }, line)).toContain(
    'workflowNodes.1.data.url: there is no node "asks" in the same body',
  );
  expect(await save({ send: send('https://a.test', { title: '{{links.ask}}' }), ask: approval, late }, line)).toContain(
    'workflowNodes.1.data.title: a link cannot be used here, but in url, headers, queryParams, body',
  );
  expect(
    await save({ send: { type: 'set', assignments: [{ name: 'a', value: '{{links.ask}}' }] }, ask: approval, late }, [
      'start>send',
      'send>ask',
      'ask:expired>late',
    ]),
  ).toContain('must begin with ctx or vars');
});

describe.skipIf(found.path === null)('the page of a link, in a browser', () => {
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.setDefaultTimeout(10_000);
    await page.addInitScript(
      "document.addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))",
    );
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  });
  afterAll(() => browser?.close());
  beforeEach(() => void faults.splice(0));

  test('takes the values of its fields, says what is wrong with them, and is answered once', async () => {
    const form = {
      type: 'dataCollection',
      answerByLink: true,
      outputVariable: 'value',
      title: 'A <b>refund</b>',
      fields: [
        { key: 'amount', label: 'Amount', fieldType: 'number', required: true },
        { key: 'reason', label: '<img src=x onerror=alert(1)>', fieldType: 'dropdown', options: ['late', 'broken'] },
        { key: 'urgent', label: 'Urgent', fieldType: 'checkbox' },
        { key: 'exact', label: 'Exact', fieldType: 'number' },
      ],
    };
    const { instanceID, requestID } = await asked(form);
    const link = await linkTo(requestID);
    await page.goto(link);
    expect(await page.getByRole('heading').textContent()).toBe('A <b>refund</b>');
    await page.getByLabel('Amount').fill('many');
    await page.getByLabel('<img src=x onerror=alert(1)>').selectOption('broken');
    await page.getByLabel('Urgent').check();

    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').filter({ hasText: 'amount' }).waitFor();
    // The browser tells of the refusal itself.
    expect(faults.splice(0)).toEqual([expect.stringContaining('status of 400')]);
    await page.getByLabel('Amount').fill('12.5');
    await page.getByLabel('Exact').fill('12345678901234567890.5');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('form').waitFor({ state: 'detached' });

    expect((await ended(instanceID)).output).toEqual({
      value: { amount: 12.5, reason: 'broken', urgent: true, exact: '12345678901234567890.5' },
    });
    expect(faults).toEqual([]);
    await page.goto(link);
    expect(await page.getByRole('heading').textContent()).toBe('This form cannot be answered');
    expect(await page.locator('form').count()).toBe(0);
  });

  test('sends JSON as it is written', async () => {
    const formSchema = { type: 'object', properties: { n: { type: 'number' }, more: {} } };
    const form = { type: 'dataCollection', answerByLink: true, outputVariable: 'value', formSchema };
    const { instanceID, requestID } = await asked(form);
    await page.goto(await linkTo(requestID));
    await page.getByLabel('n', { exact: true }).fill('1.50');
    await page.getByLabel('more').fill('{"sum": 12345678901234567890.5}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').filter({ hasText: 'sum: 12345678901234567890.5 is more than' }).waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining('status of 400')]);

    await page.getByLabel('more').fill('{"sum": "12345678901234567890.5"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('form').waitFor({ state: 'detached' });

    expect((await ended(instanceID)).output).toEqual({ value: { n: 1.5, more: { sum: '12345678901234567890.5' } } });
    expect(faults).toEqual([]);
  });

  test('is sent without a script', async () => {
    const { instanceID, requestID } = await asked({ ...approval, requireComment: true, rejectLabel: 'Not like this' });
    await using context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    plain.setDefaultTimeout(10_000);
    await plain.goto(await linkTo(requestID));
    await plain.getByRole('button', { name: 'Not like this' }).click();
    await plain.getByRole('alert').filter({ hasText: 'comment' }).waitFor();
    await plain.getByLabel('Comment').fill('Too dear');
    await plain.getByRole('button', { name: 'Not like this' }).click();
    await plain.getByText('Answer received').waitFor();
    expect((await ended(instanceID)).output).toMatchObject({ value: { approved: false, comment: 'Too dear' } });
  });

  test('has the buttons of an approval, with a comment', async () => {
    const { instanceID, requestID } = await asked({ ...approval, rejectLabel: 'Not like this' });
    await page.goto(await linkTo(requestID));
    await page.getByLabel('Comment').fill('Too dear');

    await page.getByRole('button', { name: 'Not like this' }).click();
    await page.locator('form').waitFor({ state: 'detached' });

    expect((await ended(instanceID)).output).toMatchObject({ value: { approved: false, comment: 'Too dear' } });
    expect(faults).toEqual([]);
  });
});

// The last one: its network has no requests left then.
test('reads and answers are limited apart, by link and by network, before a body is read, and stand in no line of the log', async () => {
  const { requestID } = await asked();
  const link = await linkTo(requestID);
  const read = (accept: string, method = 'GET') => fetch(link, { method, headers: { accept } });
  const answers = [];
  // Programs that look into mails send HEAD, and those that show previews GET.
  for (let at = 0; at < 30; at += 1) answers.push((await read(BROWSER, at % 2 ? 'HEAD' : 'GET')).status);
  expect(answers).toEqual(Array(30).fill(200));
  const limited = await read(BROWSER);
  expect([limited.status, limited.headers.get('content-type'), await limited.text()]).toEqual([
    429,
    'text/html; charset=utf-8',
    expect.stringMatching(/Too many requests[\s\S]*Try again in \d+ seconds/),
  ]);
  expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await read('*/*')).headers.get('content-type')).toContain('application/json');

  const sendBroken = async (url: string) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body: '{' })).status;
  };
  // Who reads the body says that it is broken.
  expect([await sendBroken(link), await sendBroken(`${link}x`)]).toEqual([400, 404]);

  const flood = (method: string) =>
    Promise.all(Array.from({ length: 121 }, () => fetch(`${cluster.baseURL}/api/v1/forms/nothing`, { method })));
  expect((await flood('GET')).some(({ status }) => status === 429)).toBe(true);
  // Nothing that reads has used up what answers need.
  for (let at = 0; at < 30; at += 1)
    expect((await call(link, { submittedData: { decision: 'perhaps' } })).status).toBe(400);
  expect(await call(link, approve)).toMatchObject(refusal(429, 'RATE_LIMITED'));
  const answered = await flood('POST');
  expect(answered.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await sendBroken(link)).toBe(429);
  await fetch(link, { method: 'PUT' });

  const lines = log.filter((line) => line.includes('/forms/'));
  expect(lines.length).toBeGreaterThan(30);
  expect(log.filter((line) => line.includes(tokenOf(link)))).toEqual([]);
});
