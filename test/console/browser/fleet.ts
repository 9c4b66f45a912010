import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { readConfig } from '#shared/config.ts';
import { newID } from '#shared/ids.ts';
import { testLogger } from '#test/support/environment.ts';
import { anOperator, aTenant, aWorkflow, type TestOperator } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Another one for each try. */
const aTitle = () => `Acme ${newID()} <img src=x onerror=alert(1)> \u202eright to left`;
const REASON = 'no running worker knows nodes of the kind teleport';

/** The page of people on call, which the board serves. */
export function fleetTests(stage: () => Stage): void {
  let board: Board;
  let baseURL: string;
  beforeAll(async () => {
    const { env } = stage().cluster;
    board = await startBoard({ config: readConfig({ ...env, BOARD_PORT: '0' }), logger: testLogger });
    baseURL = `http://127.0.0.1:${board.port}`;
    await signIn(await anOperator(stage().cluster));
  });
  /** Without a look at bull-board, whose own pages ask for fonts that the policy refuses. */
  const signIn = async ({ email, password }: TestOperator) => {
    const { request } = stage().context;
    const page = await (await request.get(`${baseURL}/login`)).text();
    const [, formToken = ''] = /name="formToken" value="(\w+)"/.exec(page) ?? [];
    const form = { formToken, email, password };
    const answer = await request.post(`${baseURL}/login`, { form, headers: { origin: baseURL }, maxRedirects: 0 });
    expect(answer.headers().location).toBe('/');
  };
  afterAll(async () => {
    // The page would go on asking a board that is gone.
    await stage().page.goto('about:blank');
    await board?.[Symbol.asyncDispose]();
  });

  test('"tenant Acme says nothing happens": the reason is read after one click, and found by the title too', async () => {
    const { cluster, page } = stage();
    const title = aTitle();
    const named = { name: new RegExp(`^${title.slice(0, 41)}`) };
    const tenant = await aTenant(cluster, { tenantTitle: title });
    const { id } = await aWorkflow(cluster, {
      tenant,
      title,
      ...graph({ start: { type: 'start' }, away: { type: 'teleport' } }, ['start>away']),
    });
    await page.goto(`${baseURL}/fleet`);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const { status } = await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute`, {});
    expect(status).toBe(200);
    const tenants = page.getByRole('table', { name: 'Tenants by backlog' });
    await tenants.getByRole('link', named).waitFor();
    // Told by the socket, and not asked for.
    expect(asked).toEqual([]);
    await eventually(async () => {
      const { rows } = await cluster.pool.query(
        'select from workflow_instance where tenant_id = $1 and hand_backs > 0',
        [tenant.id],
      );
      expect(rows).toHaveLength(1);
    });
    await tenants.getByRole('link', named).click();
    await page.getByRole('row', { name: new RegExp(REASON) }).waitFor();
    await expectAccessible(page, { name: 'fleet-tenant', shows: REASON });

    await page.goto(`${baseURL}/fleet`);
    await page.getByLabel('Find a tenant by its title').fill(title.slice(0, 46).toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Tenants that were found' }).getByRole('link', named).click();
    await page.getByText(REASON).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  }, 40_000);

  test('every figure says how old it is, and a queue leads into the board', async () => {
    const { page, context } = stage();
    await page.goto(`${baseURL}/fleet`);
    for (const name of ['Backlog', 'Tenants by backlog', 'Workers', 'Failures by code', 'Slow nodes'])
      await page
        .getByRole('region', { name, exact: true })
        .getByText(/read \d+ s ago/)
        .waitFor();
    await page.getByRole('row', { name: /^Live/ }).waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await expectAccessible(page, { name: 'fleet', shows: 'Tenants by backlog' });
    const queue = await page.getByRole('link', { name: 'workflow.runs' }).first().getAttribute('href');
    const answer = await context.request.get(baseURL + queue);
    expect(await answer.text()).toContain('static/js/lib-react');
  }, 30_000);
}
