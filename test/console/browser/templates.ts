/** Templates: from the empty Home and from the gallery, installed with what they need, and run with the input that comes with them. */
import { expect, test } from 'vitest';
import { aMember, aTenant } from '../../support/factories.ts';
import { expectAccessible, type Stage } from './stage.ts';

export function templateTests(stage: () => Stage): void {
  test('an empty tenant installs a template from its Home, tests and runs it, and a second one beside it', async () => {
    const { cluster, tenant, page, go } = stage();
    const { id } = await aTenant(cluster, { creator: tenant.creator });
    const client = cluster.as(tenant.creator).in({ id });
    await go(`/console/t/${id}`);
    const first = page.getByRole('region', { name: 'No workflow yet' });
    await first.getByRole('link', { name: 'Order approval' }).waitFor();
    await expectAccessible(page, { name: 'home-empty', shows: 'Begin with an empty one' });
    await first.getByRole('link', { name: 'Order approval' }).click();
    const install = page.getByRole('region', { name: 'Install' });
    await install.getByText('Adds 2 queries, 1 workflow, 1 variable and 1 table').waitFor();
    await page.getByRole('region', { name: 'Steps' }).getByText('Approve order ‹orderID› of ‹customer›').waitFor();
    await install.getByRole('button', { name: 'Install “Order approval”' }).click();
    await page.getByRole('heading', { name: 'Order approval' }).waitFor();
    const installed = page.getByRole('status').filter({ hasText: 'from the template “Order approval”' });
    await installed.getByRole('link', { name: 'sample_orders' }).waitFor();
    expect(await installed.getByRole('link').count()).toBe(4);
    await expectAccessible(page, { name: 'template-installed', shows: 'and with it' });
    // Its notes stand before the first step, with which a narrow canvas begins.
    await page.setViewportSize({ width: 320, height: 800 });
    const start = page.locator('.react-flow__node').filter({ hasText: 'runs begin here' });
    const isInView = async () => {
      const [card, canvas] = await Promise.all([start.boundingBox(), page.locator('.react-flow').boundingBox()]);
      if (!card || !canvas) return false;
      return card.x >= canvas.x && card.x + card.width <= canvas.x + canvas.width && card.y >= canvas.y;
    };
    await expect.poll(isInView).toBe(true);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Close the note about the installation' }).click();
    await installed.waitFor({ state: 'detached' });

    await page.locator('.canvas-note').first().waitFor();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByLabel('total').inputValue()).toBe('120');
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await page.getByText('Completed').first().waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await expect.poll(() => dialog.getByLabel('orderID').inputValue()).toBe('A-1');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('status').getByText('Completed').waitFor();
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByText('Newest runs').waitFor();
    expect(await first.count()).toBe(0);

    const [workflow] = (await client.get('T/workflows')).body.workflows;
    await page.getByRole('link', { name: 'Workflows' }).click();
    await page.getByRole('link', { name: 'Start from a template' }).click();
    await page.getByRole('link', { name: 'Order approval' }).click();
    await install.getByRole('radio', { name: 'Bring the one that is here up to the template' }).check();
    await install.getByText('It is as the template has it.').waitFor();
    await client.patch(`T/workflows/${workflow.id}`, { workflowDescription: 'Mine' });
    await page.reload();
    await install.getByRole('radio', { name: 'Bring the one that is here up to the template' }).check();
    await install.getByRole('row', { name: /Workflow Changed/ }).waitFor();
    await expectAccessible(page, { name: 'template-again', shows: 'It is here already' });
    await install.getByRole('radio', { name: 'Install another one, with tables of its own' }).check();
    await install.getByRole('button', { name: 'Install “Order approval 2”' }).click();
    await page.getByRole('heading', { name: 'Order approval 2' }).waitFor();
    const { workflows } = (await client.get('T/workflows')).body;
    expect(workflows.map(({ title }: { title: string }) => title).sort()).toEqual([
      'Order approval',
      'Order approval 2',
    ]);
    const sql =
      'select (select count(*)::int from sample_orders) as own, (select count(*)::int from sample_orders_2) as other';
    const counted = await client.post('T/database/execute-raw-sql', { sql });
    expect(counted.body.result).toEqual([{ own: 1, other: 0 }]);
  });

  test('the order desk is installed with its page: a small order is approved by a click, a large one after a question too', async () => {
    const { cluster, tenant, page, go, faults } = stage();
    const own = await aTenant(cluster, { creator: tenant.creator });
    const { id } = own;
    const client = cluster.as(tenant.creator).in({ id });
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(`/console/t/${id}/templates`);
    await page.getByRole('link', { name: 'Order desk' }).click();
    const install = page.getByRole('region', { name: 'Install' });
    await install.getByText('Adds 6 queries, 1 workflow, 11 widgets, 1 page, 1 variable and 1 table').waitFor();
    await expectAccessible(page, { name: 'template-page', shows: 'Also approve order' });
    await install.getByRole('button', { name: 'Install “Order desk”' }).click();
    const list = page.getByRole('region', { name: 'Order desk: orders' });
    await list.getByRole('checkbox', { name: 'Choose 1' }).check();
    await expectAccessible(page, { name: 'order-desk', shows: 'Ada Lovelace' });
    await page.getByRole('button', { name: 'Approve' }).click();
    await list
      .getByRole('row', { name: /Ada Lovelace/ })
      .getByText('approved')
      .waitFor();
    await page.getByRole('region', { name: 'Order desk: waiting' }).getByText('4').waitFor();

    await list.getByRole('checkbox', { name: 'Choose 3' }).check();
    await page.getByRole('button', { name: 'Approve' }).click();
    const question = page.getByRole('region', { name: 'Order desk: approve' });
    await question.getByText('Also approve order 3 of Katherine Johnson').waitFor();
    await expectAccessible(page, { name: 'order-desk-question', shows: 'Also approve order 3', schemes: ['light'] });
    await question.getByText('Not of the person who started the run').waitFor();
    expect(await question.getByRole('button', { name: 'Accept' }).count()).toBe(0);
    const second = cluster.as(await aMember(cluster, { tenant: own, can: ['workflow.execute'] })).in({ id });
    const [request] = (await second.get('T/workflows/data-collection?status=PENDING')).body.requests;
    const submittedData = { decision: 'approve' };
    const answer = await second.post(`T/workflows/data-collection/${request.collectionRequestID}/submit`, {
      submittedData,
    });
    expect(answer.status).toBe(200);
    await list
      .getByRole('row', { name: /Katherine Johnson/ })
      .getByText('approved')
      .waitFor();
    const sql = "select order_id::int from sample_desk_orders where state = 'approved' order by 1";
    const { body } = await client.post('T/database/execute-raw-sql', { sql });
    expect(body.result).toEqual([{ order_id: 1 }, { order_id: 3 }]);
    expect(faults).toEqual([]);
  });

  test('the gallery offers all templates; one asks for a database, one for a model, one makes a secret and a schedule', async () => {
    const { cluster, tenant, page, go } = stage();
    const { id } = await aTenant(cluster, { creator: tenant.creator });
    const client = cluster.as(tenant.creator).in({ id });
    await go(`/console/t/${id}/templates`);
    await page.getByRole('link', { name: 'Sync between two databases' }).waitFor();
    expect(await page.getByRole('article').count()).toBe(15);
    await expectAccessible(page, { name: 'templates', shows: 'AI classification with review' });
    const install = page.getByRole('region', { name: 'Install' });
    const back = () => page.getByRole('link', { name: 'All templates' }).click();

    await page.getByRole('link', { name: 'AI classification with review' }).click();
    await install.getByText('No model is set for this tenant').waitFor();
    await expectAccessible(page, { name: 'template-ai', shows: 'Set a model here' });
    await install.getByRole('button', { name: 'Set a model here' }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Provider' }).waitFor();
    await page.keyboard.press('Escape');
    await back();

    await page.getByRole('link', { name: 'Webhook that enriches' }).click();
    const secret = await install.getByLabel('Secret of the webhook').inputValue();
    expect(secret.length).toBeGreaterThan(20);
    await install.getByRole('button', { name: 'Install “Webhook order in euros”' }).click();
    await page.getByRole('heading', { name: 'Webhook order in euros' }).waitFor();
    const [listener] = (await client.get('T/listeners')).body.listeners;
    expect(listener).toMatchObject({ listenerTitle: 'Orders of the shop', status: 'active' });

    const warehouse = { host: 'db.example.com', port: 5432, database: 'shop', user: 'gantry' };
    const datasourceOptions = { connectionOption: 'connectionDetails', connectionDetails: warehouse };
    await client.post('T/datasources', {
      datasourceTitle: 'Warehouse',
      datasourceType: 'postgresql',
      datasourceOptions,
    });
    await go(`/console/t/${id}/templates/database-sync`);
    const button = install.getByRole('button', { name: 'Install “Sync of contacts”' });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await install.getByRole('combobox', { name: 'The other database' }).click();
    await page.getByRole('option', { name: 'Warehouse' }).waitFor();
    // The datasource of the webhook would not do.
    expect(await page.getByRole('option').allTextContents()).toEqual([expect.stringContaining('Warehouse')]);
    await page.getByRole('option', { name: 'Warehouse' }).click();
    await button.click();
    await page.getByRole('heading', { name: 'Sync of contacts' }).waitFor();
    const { cronJobs } = (await client.get('T/cronjobs')).body;
    expect(cronJobs).toMatchObject([{ cronJobTitle: 'Sync of contacts', cronJobEnabled: false }]);
    await page.getByText('Write the rows there').first().waitFor();
    await page.getByRole('link', { name: 'Cron jobs' }).click();
    await page.getByRole('link', { name: 'Sync of contacts' }).click();
    await page.getByText('none happens until the job is enabled').waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect((await client.get('T/cronjobs')).body.cronJobs).toMatchObject([{ state: 'scheduled' }]);
  });
}
