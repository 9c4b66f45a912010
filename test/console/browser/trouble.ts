import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { aDataQuery, aDatasource, aListener, aMember, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';
import { startUpgradeProxy } from '#test/support/upgrade-proxy.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Pages whose server dies, or whose user loses a permission. */
export function troubleTests(stage: () => Stage): void {
  test('the server is away in the middle of a watched run: the page goes on by itself, and ends like the record', async () => {
    const { cluster, tenant, open, faults } = stage();
    await using network = await startTCPProxy(cluster.baseURL);
    const baseURL = new URL(network.url).origin;
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
    const began = Date.now();
    const { body } = await client.post(`T/workflows/${id}/execute`, {});
    const answer = (node: string) =>
      eventually(async () => {
        const asked = await client.get('T/workflows/data-collection?status=PENDING');
        const found = asked.body.requests.find((one: { nodeID: string }) => one.nodeID === node);
        const path = `T/workflows/data-collection/${found.collectionRequestID}/submit`;
        expect((await client.post(path, { submittedData: { answer: 'yes' } })).status).toBe(200);
      });

    const member = await aMember(cluster, { tenant, can: ['workflow.read', 'cronjob.list'] });
    const page = await open(member, { baseURL, at: `/runs/${body.instanceID}?view=timeline` });
    await page.getByRole('row', { name: /one Waiting/ }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await expect.poll(() => links.allInnerTexts()).toEqual(['Home', 'Runs', 'Cron jobs']);
    network.cut();
    await page.getByText('The page reconnects by itself').waitFor();
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

    // Polls of the page would hide that it has not joined again: from here on all comes by the socket.
    const ended = Promise.withResolvers<void>();
    let readings = 0;
    await page.route(`**/instances/${body.instanceID}?*`, async (route) => {
      if (route.request().url().includes('timelineLimit=5000')) {
        await ended.promise;
        readings += 1;
      }
      await route.abort();
    });
    network.heal();
    await page.getByRole('row', { name: /four Waiting/ }).waitFor();
    await page.getByText('The page reconnects by itself').waitFor({ state: 'detached' });
    await expect.poll(() => links.allInnerTexts()).toEqual(['Home', 'Runs']);
    // Waiting is cut that takes a second, and half of the time for which the run is busy, also after it.
    await sleep(Math.max(1_100, Date.now() - began));
    await answer('four');
    await page.getByRole('status').getByText('Completed').waitFor();
    // Other permissions had the page read all that it shows; it keeps the run when that fails for good after the last event.
    ended.resolve();
    await expect.poll(() => readings, { timeout: 20_000 }).toBe(4);
    const { body: recorded } = await client.get(`T/workflows/instances/${body.instanceID}`);
    const steps = recorded.timeline.filter(({ status }: { status: string }) => status === 'SUCCESS');
    expect(steps).toHaveLength(7);
    for (const { nodeID } of steps)
      await expect.poll(() => page.getByRole('row', { name: new RegExp(`^${nodeID} Success`) }).count()).toBe(1);
    // The seconds in which it waited for its server would hide what the run did.
    await page.getByText(/^The dotted lines stand for/).waitFor();
    await page.getByRole('row', { name: /^In the queue [\d.]+ m?s/ }).waitFor();
    await page.close();
    // The browser itself says that a server was away.
    faults.splice(
      0,
      faults.length,
      ...faults.filter((fault) => !/ERR_CONNECTION|ERR_SOCKET|ERR_EMPTY|ERR_FAILED|WebSocket/.test(fault)),
    );
  });

  test('behind a proxy that upgrades no connection the page is live by polling, and never says that its connection is lost', async () => {
    const { cluster, tenant, open, faults } = stage();
    await using proxy = await startUpgradeProxy(cluster.baseURL, { holds: true });
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: 'Behind a proxy',
      ...graph({ start: { type: 'start' }, ask: { type: 'dataCollection' }, end: { type: 'end' } }, [
        'start>ask',
        'ask>end',
      ]),
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute`, {});
    const page = await open(tenant.creator, { baseURL: proxy.url, at: `/runs/${body.instanceID}?view=timeline` });
    await page.getByRole('row', { name: /ask Waiting/ }).waitFor();
    await page.getByText('Connecting', { exact: true }).waitFor();
    expect(await page.getByText('The connection is lost').count()).toBe(0);

    proxy.refuse();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByText('The connection is lost').count()).toBe(0);
    // Polls of the page would hide that nothing comes by the socket.
    await page.route(`**/instances/${body.instanceID}?*`, (route) => route.abort());
    await client.delete(`T/workflows/instances/${body.instanceID}/stop`);
    await page.getByRole('status').getByText('Cancelled').waitFor();
    await page.close();
    faults.splice(0, faults.length, ...faults.filter((fault) => !/ERR_FAILED|WebSocket/.test(fault)));
  });

  test('a query that is edited keeps what was typed when its server does not answer another reading', async () => {
    const { cluster, tenant, open, path, faults } = stage();
    const { id } = await aDataQuery(cluster, { tenant, title: 'Edited' });
    const member = await aMember(cluster, {
      tenant,
      can: ['dataquery.read', 'dataquery.list', 'dataquery.update', 'datasource.read', 'cronjob.list'],
    });
    const page = await open(member);
    await page.goto(cluster.baseURL + path(`/queries/${id}`));
    const sql = page.getByRole('textbox', { name: /^(SQL|Query)/ }).first();
    await sql.fill('select 42 as typed');
    await page.getByText('Live', { exact: true }).waitFor();
    let readings = 0;
    await page.route(`**/queries/${id}`, (route) => {
      readings += 1;
      return route.abort();
    });
    const remove = [{ subject: member.id, object: 'cronjob:*', action: 'list' }];
    await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, { remove });
    await page.getByRole('link', { name: 'Cron jobs' }).waitFor({ state: 'detached' });
    await expect.poll(() => readings, { timeout: 20_000 }).toBe(4);

    await page.unroute(`**/queries/${id}`);
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    // It is disabled while it saves, too.
    await save.and(page.locator('[disabled]:not([data-loading])')).waitFor();
    expect(await sql.textContent()).toContain('select 42 as typed');
    await page.close();
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_FAILED')));
  });

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

    const answer = { status: 429, json: { error: { message: 'Slower, please' } } };
    let isRefused = true;
    await page.route(/\/workflows\?/, (route) => (isRefused ? route.fulfill(answer) : route.continue()));
    await go(path('/workflows'));
    await page.getByRole('alert').getByText('Slower, please').waitFor();
    await again.focus();
    // The list is also read again when something in it changes, which takes the button away.
    isRefused = false;
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    forgetRefusals(stage(), 404);
    forgetRefusals(stage(), 429);
  });

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
    const page = await open(member, { at: '/workflows' });
    const shown = () => page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts();
    const main = page.getByRole('main');

    await main
      .getByRole('row', { name: /^Of another/ })
      .first()
      .waitFor();
    await expect.poll(shown).toEqual(['Home', 'Runs', 'Inbox', 'Workflows', 'Datasources']);
    await main.getByRole('button', { name: 'Actions for Of another' }).first().click();
    await page.getByRole('menuitem', { name: 'Show its runs' }).waitFor();
    expect(await page.getByRole('menuitem').count()).toBe(1);
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
  });

  test('a permission is withdrawn while the page is open: the page says so, and does not ask again', async () => {
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
    const at = `/runs/${body.instanceID}?view=timeline`;
    const page = await open(member, { at, prepare: ({ clock }) => clock.install() });
    await page.getByRole('row', { name: /wait Waiting/ }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Re-run/ }).count()).toBe(0);

    expect(await askedLater(page, /instances/)).not.toEqual([]);
    await changeRules(em, tenant.id, { remove: [{ subject: member.id, object: 'workflow:*', action: 'read' }] });
    await page.getByRole('alert').getByText('You may not do this').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await page.getByText('Secret').count()).toBe(0);
    await page.getByRole('link', { name: 'Runs', exact: true }).waitFor({ state: 'detached' });
    expect(await askedLater(page, /instances/)).toEqual([]);

    const withdraw = async (object: string, ...actions: string[]) => {
      const remove = actions.map((action) => ({ subject: member.id, object, action }));
      await changeRules(em, tenant.id, { remove });
    };
    const main = page.getByRole('main');
    await go(path('/listeners'), page);
    await main
      .getByRole('row', { name: /^Theirs/ })
      .first()
      .waitFor();
    expect(await askedLater(page, /listeners/)).not.toEqual([]);
    await withdraw('listener:*', 'read', 'list');
    await page.getByRole('alert').getByText('You may not do this').first().waitFor();
    expect(await page.getByRole('row').count()).toBe(0);
    expect(await askedLater(page, /listeners/)).toEqual([]);
    await go(path(), page);
    await main.getByRole('link', { name: 'Workflows' }).waitFor();
    expect(await main.getByRole('link').allInnerTexts()).toEqual(['Workflows', 'Members']);
    await main.getByText(`ask ${tenant.creator.email}`).waitFor();
    await withdraw('workflow:*', 'list');
    await withdraw('user:*', 'read', 'list');
    await main.getByText('No page is open to you yet').waitFor();
    await main.getByText('Ask an administrator of this tenant for one that does').waitFor();
    await expectAccessible(page, { name: 'home-without-permissions', shows: 'No page is open to you' });
    await go(path('/inbox'), page);
    await main.getByText('You may neither answer questions').waitFor();
    await page.close();
    await client.delete(`T/workflows/instances/${body.instanceID}/stop`);
    forgetRefusals(stage(), 403);
  });
}

/** The addresses like this one that the page asks for within ten seconds, by its own clock. */
async function askedLater(page: Page, address: RegExp): Promise<string[]> {
  const asked: string[] = [];
  const note = (request: Request) => void (address.test(request.url()) && asked.push(request.url()));
  page.on('request', note);
  for (let seconds = 0; seconds < 10; seconds += 5) {
    await page.clock.fastForward(5_000);
    // A request that a timer has caused is sent before this one.
    await page.evaluate("fetch('/health').then(({ ok }) => ok)");
  }
  page.off('request', note);
  return asked;
}
