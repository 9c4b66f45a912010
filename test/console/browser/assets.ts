import { expect, test } from 'vitest';
import { aDatasource, aWorkflow } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Queries and cron jobs. */
export function assetTests(stage: () => Stage): void {
  test('a query is changed, saved, and run with its inputs; each row is shown as text', async () => {
    const { cluster, page, path, tenant } = stage();
    const made = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/queries', {
        dataQueryTitle: 'Count',
        datasourceType: 'tenantdb',
        dataQueryOptions: { query: 'select 1', inputDefinitions: [{ key: 'rows', type: 'number', required: true }] },
      });
    expect(made.status).toBe(201);
    await page.goto(cluster.baseURL + path('/queries?search=Count'));
    await page.getByRole('link', { name: 'Count' }).click();
    await page
      .getByRole('textbox', { name: /^(SQL|Query)/ })
      .first()
      .fill("select n, '<img src=x>' as mark from generate_series(1, {{inputs.rows}}) n");
    await page.getByText('without the changes').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('without the changes').waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Run' }).getByLabel('rows').fill('1000');
    await page.getByRole('region', { name: 'Run' }).getByRole('button', { name: 'Run' }).click();
    await page.getByText('1,000 rows').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('201 to 400').waitFor();
    expect(await page.getByRole('cell', { name: '201', exact: true }).count()).toBe(1);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await expectAccessible(page, { name: 'query', shows: '201 to 400' });
  }, 30_000);

  test('a cron job says when it runs next, is run by hand, paused and resumed', async () => {
    const { cluster, page, path, tenant } = stage();
    const { id } = await aWorkflow(cluster, { tenant, title: 'Nightly' });
    const made = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/cronjobs', {
        ...{ cronJobTitle: 'Every night', cronJobSchedule: '0 3 * * *', timezone: 'Europe/Vienna' },
        ...{ cronJobType: 'workflow', cronJobConfig: { workflowID: id } },
      });
    expect(made.status).toBe(201);
    await page.goto(cluster.baseURL + path('/cron'));
    await page.getByText('Every night').waitFor();
    await expectAccessible(page, { name: 'cron', shows: 'Every night' });
    await page.getByRole('link', { name: 'Every night' }).click();
    await expect.poll(() => page.getByRole('region', { name: 'Next runs' }).getByRole('listitem').count()).toBe(10);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('row', { name: /Fired by hand Run$/ }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('none happens until the job is resumed').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Scheduled', { exact: true }).waitFor();
    await expectAccessible(page, { name: 'cron-job', shows: 'Past ticks' });
  }, 30_000);

  test('connections are tested from the list, also one that fails', async () => {
    const { cluster, page, path, tenant } = stage();
    await aDatasource(cluster, { tenant, title: 'Reached' });
    const connectionString = 'postgresql://reader:hidden-word@127.0.0.1:1/none';
    const options = { connectionOption: 'connectionString', connectionString };
    await aDatasource(cluster, { tenant, title: 'Away', options });
    await page.goto(cluster.baseURL + path('/datasources'));
    await page.getByRole('button', { name: 'Test Reached' }).click();
    await page.getByRole('row', { name: /^Reached postgresql Connected/ }).waitFor();
    await page.getByRole('button', { name: 'Test Away' }).click();
    await page.getByRole('row', { name: /^Away postgresql Failed/ }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(1);
    expect(await page.content()).not.toContain('hidden-word');
    for (const status of [400, 422, 502, 504]) forgetRefusals(stage(), status);
    await expectAccessible(page, { name: 'datasources', shows: 'Reached' });
  }, 30_000);

  test('the list of queries: no finding by axe, and no sideways scroll', async () => {
    const { cluster, page, path } = stage();
    await page.goto(cluster.baseURL + path('/queries'));
    await expectAccessible(page, { name: 'queries', shows: 'Count' });
  }, 20_000);
}
