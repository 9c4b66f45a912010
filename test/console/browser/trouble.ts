import { expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { freePort } from '#ops/embedded/ports.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { aDatasource, aListener, aMember, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** What a page does when its server dies, when its user loses a permission, and with data that is made to break it. */
export function troubleTests(stage: () => Stage): void {
  test('the API is killed in the middle of a watched run: the page goes on by itself, and ends like the record', async () => {
    const { cluster, tenant, open, faults } = stage();
    const port = await freePort();
    const baseURL = `http://127.0.0.1:${port}`;
    const { METRICS_PORT: _, ...env } = cluster.env;
    const start = async () => {
      const api = spawnNode(['api/main.ts'], { ...env, PORT: String(port) });
      await eventually(async () => expect((await fetch(`${baseURL}/ready`)).status).toBe(200), 40_000);
      return api;
    };
    const pause = { type: 'delay', delayMs: 300 };
    const asks = { type: 'dataCollection', fields: [{ key: 'answer', label: 'Answer' }] };
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: 'Watched',
      ...graph(
        {
          start: { type: 'start' },
          one: asks,
          two: pause,
          three: pause,
          four: asks,
          five: pause,
          end: { type: 'end' },
        },
        ['start>one', 'one>two', 'two>three', 'three>four', 'four>five', 'five>end'],
      ),
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute`, {});
    const answer = (node: string) =>
      eventually(async () => {
        const asked = await client.get('T/workflows/data-collection?status=PENDING');
        const found = asked.body.requests.find((one: { nodeID: string }) => one.nodeID === node);
        const path = `T/workflows/data-collection/${found.collectionRequestID}/submit`;
        expect((await client.post(path, { submittedData: { answer: 'yes' } })).status).toBe(200);
      });

    const member = await aMember(cluster, { tenant, can: ['workflow.read', 'cronjob.list'] });
    const api = await start();
    const page = await open(member, baseURL);
    await page.goto(`${baseURL}/console/t/${tenant.id}/runs/${body.instanceID}?view=timeline`);
    await page.getByRole('row', { name: /one Waiting/ }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await api.kill('SIGKILL');
    await page.getByText('The page reconnects by itself').waitFor();
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.allInnerTexts()).toEqual(['Home', 'Runs', 'Cron jobs']);
    // Three steps happen, and a permission is withdrawn, while the page knows of no server.
    const remove = [{ subject: member.id, object: 'cronjob:*', action: 'list' }];
    await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, { remove });
    await answer('one');
    await eventually(async () => {
      const { rows } = await cluster.pool.query(
        "select 1 from collection_request where node_id = 'four' and status = 'PENDING'",
      );
      expect(rows).toHaveLength(1);
    });

    // What the page polls would hide that it has not joined again: from here on all comes by the socket.
    await page.route(`**/instances/${body.instanceID}?*`, (route) => route.abort());
    await using restarted = await start();
    await page.getByRole('row', { name: /four Waiting/ }).waitFor({ timeout: 20_000 });
    expect(await page.getByText('The page reconnects by itself').count()).toBe(0);
    await expect.poll(() => links.allInnerTexts()).toEqual(['Home', 'Runs']);
    await answer('four');
    await page.getByRole('status').getByText('Completed').waitFor();
    const { body: recorded } = await client.get(`T/workflows/instances/${body.instanceID}`);
    const steps = recorded.timeline.filter(({ status }: { status: string }) => status === 'SUCCESS');
    expect(steps).toHaveLength(7);
    for (const { nodeID } of steps)
      expect(await page.getByRole('row', { name: new RegExp(`^${nodeID} Success`) }).count()).toBe(1);
    // The seconds in which it waited for its server would hide what the run did.
    await page.getByText(/of waiting are cut/).waitFor();
    await page.getByRole('row', { name: /^In the queue \d+ m?s/ }).waitFor();
    await page.close();
    await restarted.kill('SIGTERM');
    // The browser itself says that a server was away, and that one that has just started is not ready.
    forgetRefusals(stage(), 503);
    faults.splice(
      0,
      faults.length,
      ...faults.filter((fault) => !/ERR_CONNECTION|ERR_EMPTY|ERR_FAILED|WebSocket/.test(fault)),
    );
  }, 120_000);

  test('a page that is opened first while the server is away waits for it', async () => {
    const { cluster, page, path, faults } = stage();
    await page.goto(cluster.baseURL + path('/inbox'));
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.route('**/*', (route) => route.abort());
    const asks = page.waitForRequest('**/health');
    await page.getByRole('link', { name: 'Roles' }).click();
    await asks;
    await page.unroute('**/*');
    await page.getByRole('heading', { name: 'Roles' }).waitFor();
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_FAILED')));
  });

  test('a read that failed may be tried again if that can help', async () => {
    const { page, go, path } = stage();
    const again = page.getByRole('button', { name: 'Try again' });
    await go(path(`/workflows/${newID()}`));
    await page.getByRole('alert').getByText('Workflow not found').waitFor();
    expect(await again.count()).toBe(0);

    const reads = /\/workflows\?/;
    await page.route(reads, (route) => route.fulfill({ status: 429, json: { error: { message: 'Slower, please' } } }));
    await go(path('/workflows'));
    await page.getByRole('alert').getByText('Slower, please').waitFor();
    await page.unroute(reads);
    await again.click();
    await again.waitFor({ state: 'detached' });
    forgetRefusals(stage(), 404);
    forgetRefusals(stage(), 429);
  }, 20_000);

  test('what a member may not do is not offered: pages, buttons and actions of rows', async () => {
    const { cluster, tenant, go, path, open } = stage();
    const own = await aWorkflow(cluster, { tenant, title: 'Theirs' });
    await aWorkflow(cluster, { tenant, title: 'Of another' });
    await aDatasource(cluster, { tenant, title: 'Untested' });
    const member = await aMember(cluster, {
      tenant,
      can: ['workflow.read', 'workflow.list', 'datasource.list', 'datasource.read'],
      rules: [{ object: `workflow:${own.id}`, action: '*' }],
    });
    const page = await open(member);
    const shown = () => page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts();
    const main = page.getByRole('main');

    await go(path('/workflows'), page);
    await main
      .getByRole('row', { name: /^Of another/ })
      .first()
      .waitFor();
    await expect.poll(shown).toEqual(['Home', 'Runs', 'Inbox', 'Workflows', 'Datasources']);
    await main.getByRole('button', { name: 'Actions for Of another' }).first().click();
    await page.getByText('You may change nothing here.').waitFor();
    await page.keyboard.press('Escape');
    await main.getByRole('button', { name: 'Actions for Theirs' }).first().click();
    await page.getByRole('menuitem', { name: 'Delete' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await main.getByRole('button', { name: 'New workflow' }).count()).toBe(0);
    await main.getByRole('link', { name: 'Of another' }).first().click();
    await main.getByText('Steps as a list').waitFor();
    const buttons = () => main.getByRole('button').allInnerTexts();
    expect(await buttons()).not.toContain('Publish');
    await go(path(`/workflows/${own.id}`), page);
    await main.getByRole('button', { name: 'Publish' }).waitFor();
    await go(path('/datasources'), page);
    await main
      .getByRole('row', { name: /^Untested/ })
      .first()
      .waitFor();
    expect(await buttons()).toEqual([]);
    await page.close();
  }, 20_000);

  test('a permission is withdrawn while the page is open, and the page says so within 2 s', async () => {
    const { cluster, tenant, go, path, open } = stage();
    const member = await aMember(cluster, {
      tenant,
      can: ['workflow.read', 'workflow.list', 'listener.read', 'listener.list', 'user.read', 'user.list'],
    });
    const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
    // As every member has it, of the own membership.
    const own = { subject: member.id, object: `user:${member.id}`, action: 'read' };
    await changeRules(em, tenant.id, { add: [own] });
    const waits = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
    const { id } = await aWorkflow(cluster, { tenant, title: 'Secret', ...waits });
    await aListener(cluster, { tenant, title: 'Theirs', status: 'inactive' });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute`, {});
    const page = await open(member);
    await go(path(`/runs/${body.instanceID}?view=timeline`), page);
    await page.getByRole('row', { name: /wait Waiting/ }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Re-run/ }).count()).toBe(0);

    await changeRules(em, tenant.id, { remove: [{ subject: member.id, object: 'workflow:*', action: 'read' }] });
    const began = performance.now();
    await page.getByRole('alert').getByText('You may not do this').waitFor();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await page.getByText('Secret').count()).toBe(0);
    await page.getByRole('link', { name: 'Runs', exact: true }).waitFor({ state: 'detached', timeout: 2_000 });
    // A page that is refused does not ask again every 1.5 s.
    const asked = page.waitForRequest(/instances/, { timeout: 2_000 });
    await expect(asked).rejects.toThrow('Timeout');

    const withdraw = async (object: string, ...actions: string[]) => {
      const remove = actions.map((action) => ({ subject: member.id, object, action }));
      await changeRules(em, tenant.id, { remove });
      return performance.now();
    };
    const main = page.getByRole('main');
    await go(path('/listeners'), page);
    await main.getByRole('row', { name: /^Theirs/ }).waitFor();
    const withdrawn = await withdraw('listener:*', 'read', 'list');
    await page.getByRole('alert').getByText('You may not do this').first().waitFor();
    expect(performance.now() - withdrawn).toBeLessThan(2_000);
    expect(await page.getByRole('row').count()).toBe(0);
    // Its lists are otherwise read every 3 and 10 s.
    await expect(page.waitForRequest(/listeners/, { timeout: 3_500 })).rejects.toThrow('Timeout');
    await go(path(), page);
    await main.getByRole('link', { name: 'Workflows' }).waitFor();
    expect(await main.getByRole('link').allInnerTexts()).toEqual(['Workflows', 'Members']);
    await main.getByText(`ask ${tenant.creator.email}`).waitFor();
    await withdraw('workflow:*', 'list');
    await withdraw('user:*', 'read', 'list');
    await main.getByText('No page is open to you yet').waitFor({ timeout: 2_000 });
    await main.getByText('Ask an administrator of this tenant for one that does').waitFor();
    await expectAccessible(page, { name: 'home-without-permissions', shows: 'No page is open to you' });
    await go(path('/inbox'), page);
    await main.getByText('You may neither answer questions').waitFor();
    await page.close();
    await client.delete(`T/workflows/instances/${body.instanceID}/stop`);
    forgetRefusals(stage(), 403);
  }, 40_000);

  describeHostile(stage);
}

/** Of a megabyte that cannot be compressed. */
const LARGE_CELL = `let cell = ${JSON.stringify(HOSTILE)};
while (cell.length < 1_000_000) cell += Math.random().toString(36);
return { cell };`;

function describeHostile(stage: () => Stage): void {
  let instanceID: string;
  const places = [
    { name: 'hostile-home', path: '' },
    { name: 'hostile-runs', path: '/runs' },
    { name: 'hostile-inbox', path: '/inbox' },
    { name: 'hostile-run', path: () => `/runs/${instanceID}?view=timeline&step=big` },
    { name: 'hostile-log', path: () => `/runs/${instanceID}?view=graph&step=say&tab=logs` },
  ];

  test('a run with hostile data', async () => {
    const { cluster, tenant } = stage();
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: HOSTILE.slice(0, 200),
      ...graph(
        {
          start: { type: 'start', title: HOSTILE },
          big: { type: 'javascript', title: HOSTILE, code: LARGE_CELL },
          say: { type: 'log', level: 'warn', message: HOSTILE },
          ask: { type: 'dataCollection', title: HOSTILE, description: HOSTILE, fields: [{ key: 'a', label: HOSTILE }] },
        },
        ['start>big', 'big>say', 'say>ask'],
      ),
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute`, {
      args: { cell: HOSTILE.repeat(500) },
      tags: ['<b>'],
    });
    instanceID = body.instanceID;
    await eventually(async () => {
      const { body: run } = await client.get(`T/workflows/instances/${instanceID}`);
      expect(run.status).toBe('WAITING');
    });
  });

  test.each(places)(
    '$name shows it as text',
    async ({ name, path }) => {
      const { page, go, path: pathOf } = stage();
      await go(pathOf(typeof path === 'string' ? path : path()));
      await expectAccessible(page, { name, shows: '<img src=x onerror=', schemes: ['light'] });
      expect(await page.locator('img[src="x"]').count()).toBe(0);
    },
    20_000,
  );

  test('a cell of a megabyte is loaded when asked for, and shown in part', async () => {
    const { page, go, path } = stage();
    await go(path(`/runs/${instanceID}?view=timeline&step=big`));
    await page.getByRole('button', { name: 'Load it' }).click();
    await page.getByText(/The first 50,000 of [\d,]+ characters/).waitFor();
    const cell = await page.locator('pre', { hasText: 'onerror' }).last().textContent();
    expect(cell).toContain('\\u202egnp.exe');
    expect(cell).not.toContain('\u202e');
    await go(path(`/runs/${instanceID}?view=timeline&step=say&tab=input`));
    await page.getByText(/The first 50,000 of 1,[\d,]+ characters/).waitFor();
    const boxOf = (label: string) => page.getByLabel(label).boundingBox();
    const [input, output] = [await boxOf('Context of the step'), await boxOf('Output of the step')];
    expect(output?.x).toBeGreaterThanOrEqual((input?.x ?? 0) + (input?.width ?? 0));
    const given = await page.getByLabel('Context of the step').textContent();
    expect(given).toContain('\\u202egnp.exe');
    expect(given).not.toContain('\u202e');
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });
}
