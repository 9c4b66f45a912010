import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { aDataQuery, aMember, aWidget, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { aFile } from '#test/support/route-fixtures.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Pages in the hands of viewers who may read them, and nothing else. */
export function pageViewerTests(stage: () => Stage): void {
  test('a viewer fills in the form made from the inputs of a workflow, answers its form, and another approves it on a telephone', async () => {
    const { cluster, tenant, open, faults } = stage();
    const clerk = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const chief = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const second = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const workflow = await aWorkflow(cluster, {
      ...{ tenant, title: 'Refund' },
      options: {
        inputDefinitions: [
          { key: 'reason', title: 'Reason', type: 'choice', options: ['late', 'broken'], required: true },
          { key: 'amount', title: 'Amount', type: 'number', required: true },
          { key: 'order', type: 'integer', required: true },
        ],
      },
      ...graph(
        {
          start: { type: 'start' },
          ask: {
            type: 'dataCollection',
            title: 'Which account?',
            fields: [{ key: 'iban', label: 'IBAN', required: true }],
          },
          approve: { type: 'approval', title: 'Pay {{ctx.input.amount}} €?', approvers: [chief.id, second.id] },
          end: { type: 'end', outputParameters: [{ name: 'order', sourceVariable: '{{ctx.input.order}}' }] },
        },
        ['start>ask', 'ask:output>approve', 'approve:approved>end'],
      ),
    });
    const events = { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'refund' }] };
    const { id: widgetID } = await aWidget(cluster, {
      ...{ tenant, type: 'button' },
      config: { properties: { label: 'Refund' }, events } as never,
    });
    const inputValues = { reason: '{{form.reason}}', amount: '{{form.amount}}', order: '{{page.params.order}}' };
    const { body } = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/app-pages', {
        appPageTitle: 'Refunds',
        appPageConfig: {
          widgets: [`widget_${widgetID}_refund`],
          dataSources: [{ alias: 'refund', type: 'workflow', workflowID: workflow.id, inputValues }],
        },
      });
    const at = `/pages/${body.appPage.id}?order=7`;

    const page = await open(clerk, { at });
    await page.getByRole('button', { name: 'Refund' }).click();
    const dialog = page.getByRole('dialog', { name: 'Before it starts' });
    await dialog.getByRole('textbox', { name: 'Amount' }).fill('40');
    expect(await dialog.getByText('order', { exact: true }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Start' }).click();
    // A refused start leaves what was entered.
    await dialog.getByText('reason: is required').waitFor();
    await expectAccessible(page, { name: 'page-input-form', shows: 'Before it starts' });
    await dialog
      .getByRole('textbox', { name: 'Reason' })
      .or(dialog.getByRole('combobox', { name: 'Reason' }))
      .first()
      .click();
    await page.getByRole('option', { name: 'broken' }).click();
    await dialog.getByRole('button', { name: 'Start' }).click();
    await dialog.waitFor({ state: 'detached' });
    const run = page.locator('.page-run');
    await run.getByRole('textbox', { name: 'IBAN' }).fill('DE1');
    await run.getByRole('button', { name: 'Send' }).click();
    await run.getByText('Waits for an answer of: ').waitFor();

    const phone = await open(chief, { at, prepare: (one) => one.setViewportSize({ width: 400, height: 800 }) });
    const waiting = phone.getByRole('region', { name: 'Waiting for your answer' });
    await waiting.getByText('Pay 40 €?').click();
    await expectAccessible(phone, { name: 'page-question', shows: '1 question waits for your answer' });
    const late = await open(second, { at });
    const unfolded = late.getByRole('region', { name: 'Waiting for your answer' });
    await unfolded.getByText('Pay 40 €?').click();
    await unfolded.getByRole('button', { name: 'Reject' }).waitFor();
    await waiting.getByRole('button', { name: 'Accept' }).click();
    await waiting.getByText('Approved').waitFor();
    await unfolded.getByRole('button', { name: 'Reject' }).click();
    await unfolded.getByText(`${chief.email} has answered meanwhile. Your answer was not taken.`).waitFor();
    await expectAccessible(late, { name: 'page-question-lost', shows: 'has answered meanwhile' });
    await late.close();
    await run.getByText('Completed').waitFor();
    const { rows } = await cluster.pool.query('select input, output from workflow_instance where workflow_id = $1', [
      workflow.id,
    ]);
    expect(rows).toMatchObject([{ input: { reason: 'broken', amount: 40, order: 7 }, output: { order: 7 } }]);
    expect(faults.filter((fault) => !/status of 40[0349]/.test(fault))).toEqual([]);
    faults.length = 0;
    await page.close();
    await phone.close();
  });

  test('a viewer sees the uploaded pictures of a page, and a video that is in its address', async () => {
    const { cluster, tenant, open, faults } = stage();
    const api = cluster.as(tenant.creator).in(tenant);
    const { url } = (await api.post('T/widgets/upload', aFile())).body;
    const shown: [string, object][] = [
      ['image', { src: url, alt: 'A logo' }],
      ['video', { src: 'data:video/mp4;base64,AAAA' }],
    ];
    const widgets = await Promise.all(
      shown.map(async ([type, properties]) => {
        const { id } = await aWidget(cluster, { tenant, type, title: `The ${type}`, config: { properties } as never });
        return `widget_${id}_${type}`;
      }),
    );
    const { body } = await api.post('T/app-pages', { appPageTitle: 'Pictures', appPageConfig: { widgets } });
    const viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });

    const page = await open(viewer, { at: `/pages/${body.appPage.id}` });
    const image = page.getByRole('img', { name: 'A logo' });
    await expect
      .poll(() => image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth))
      .toBeGreaterThan(0);
    const video = page.getByLabel('The video', { exact: true }).and(page.locator('video'));
    // It is none, which the browser finds out by reading it; the policy lets it.
    await expect
      .poll(() => video.evaluate((element) => (element as unknown as { error?: { code: number } }).error?.code))
      .toBe(4);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('a role gives its members one page, found by a picker, and the page in which they begin', async () => {
    const { cluster, tenant, page, path, open, faults } = stage();
    const api = cluster.as(tenant.creator).in(tenant);
    const aPage = async (appPageTitle: string) =>
      (await api.post('T/app-pages', { appPageTitle, appPageConfig: {} })).body.appPage.appPageID as string;
    const [desk] = [await aPage('Desk of the viewers'), await aPage('Nobody else’s')];
    await api.post('T/roles', { roleName: 'Viewers of one desk', rolePermissions: ['appPage.list'] });
    // Loaded anew: roles that others make are known when the list of before is a minute old.
    await page.goto(`${cluster.baseURL}${path('/roles')}`);
    await page
      .getByRole('button', { name: 'Viewers of one desk' })
      .or(page.getByRole('link', { name: 'Viewers of one desk' }))
      .first()
      .click();
    const choose = async (label: string | RegExp, option: string) => {
      await page
        .getByRole('combobox', { name: label })
        .or(page.getByRole('textbox', { name: label }))
        .first()
        .click();
      await page.getByRole('option', { name: option }).first().click();
    };
    await choose('Home page', 'Desk of the viewers');
    await page.getByRole('button', { name: 'Save the role' }).click();
    const { roles } = (await api.get('T/roles?search=Viewers%20of%20one%20desk')).body;
    await expect
      .poll(async () => (await api.get('T/roles?search=Viewers%20of%20one%20desk')).body.roles[0].homePageID)
      .toBe(desk);
    // The home page of a role is one that it opens.
    const [{ roleID }] = roles;
    const read = { resourceType: 'appPage', resourceID: desk, action: 'read' };
    expect((await api.get(`T/roles/${roleID}`)).body.role.assetPermissions).toMatchObject([read]);

    await page.goto(`${cluster.baseURL}${path('/members')}`);
    await page.getByRole('button', { name: 'Add a member' }).click();
    await page.getByRole('textbox', { name: 'E-mail address' }).fill('only-pages@example.com');
    await choose('Or only to use pages', 'Desk of the viewers');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const made = (await api.get('T/roles?search=Use%20Desk%20of%20the%20viewers')).body.roles;
    expect(made).toMatchObject([{ rolePermissions: [], assetPermissions: [read] }]);

    const viewer = await aMember(cluster, { tenant, can: [] });
    await api.patch(`T/users/${viewer.id}/roles`, { roleIDs: [roleID] });
    const theirs = await open(viewer, { at: '' });
    await theirs.waitForURL(`**/pages/${desk}`);
    await theirs.getByRole('heading', { name: 'Desk of the viewers' }).waitFor();
    const menu = theirs.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Desk of the viewers' }).waitFor();
    expect(await menu.getByRole('link').allTextContents()).toEqual(
      ['Home', 'Pages', 'Desk of the viewers'].map((name) => expect.stringContaining(name)),
    );
    await expectAccessible(theirs, { name: 'page-of-viewer', shows: 'Desk of the viewers' });
    expect(faults).toEqual([]);
    await theirs.close();
  });

  test('rows of a table are edited, deleted together after a question, and exported', async () => {
    const { cluster, tenant, page, go, path, faults } = stage();
    const rows = await aDataQuery(cluster, {
      tenant,
      query: "select n as id, 'row ' || n as name from generate_series(1, 3) n",
    });
    const saved = await aDataQuery(cluster, { tenant });
    const said = (message: string) => [{ type: 'SHOW_TOAST', message }];
    const events = {
      onRowSave: [
        { type: 'CONFIRM', message: 'Save {{event.row.id}}?' },
        // It fails for another name than that of the query.
        { type: 'EXECUTE_QUERY', alias: '{{event.changes.name}}' },
        ...said('Saved {{event.row.id}}: {{event.changes.name}}, was {{event.before.name}}'),
      ],
      onBulkAction: [{ type: 'CONFIRM', message: 'Apply?' }, ...said('Applied to {{event.count}}')],
      onBulkDelete: said('Deleted {{event.rows | map: "id" | join: ","}}'),
      onExport: said('Exported {{event.count}}'),
    };
    const { id } = await aWidget(cluster, {
      ...{ tenant, type: 'table' },
      config: { properties: { items: '{{queries.rows.data}}', isEditable: true }, events } as never,
    });
    const { body } = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/app-pages', {
        appPageTitle: 'Rows',
        appPageConfig: {
          widgets: [`widget_${id}_rows`],
          dataSources: [
            { alias: 'rows', type: 'query', queryID: rows.id },
            { alias: 'save', type: 'query', queryID: saved.id, triggerMode: 'manual' },
          ],
        },
      });
    await go(path(`/pages/${body.appPage.id}`));
    await page.getByRole('button', { name: 'Edit 2', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the row' });
    const name = dialog.getByRole('textbox', { name: 'name' });
    await name.fill('other');
    await expectAccessible(page, { name: 'page-row-editor', shows: 'Edit the row' });
    const question = page.getByRole('dialog', { name: 'Please confirm' });
    await name.press('Enter');
    await question.getByText('Save 2?').waitFor();
    // A save that is at work cannot be left.
    await page.keyboard.press('Escape');
    await dialog.getByText('This is not saved.').waitFor();
    expect(await name.inputValue()).toBe('other');
    await name.press('Enter');
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await page.getByText('This page has no query “other”').waitFor();
    await dialog.getByText('This is not saved.').waitFor();
    expect(await name.inputValue()).toBe('other');
    await name.fill('save');
    await name.press('Enter');
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await page.getByText('Saved 2: save, was row 2').waitFor();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'Choose 1' }).check();
    await page.getByRole('checkbox', { name: 'Choose 3' }).check();
    const apply = page.getByRole('button', { name: 'Apply to 2 chosen', includeHidden: true });
    await apply.click();
    await question.getByText('Apply?').waitFor();
    // A second click does not do it again.
    expect(await apply.isDisabled()).toBe(true);
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await page.getByText('Applied to 2').waitFor();
    await expectAccessible(page, { name: 'page-table-tools', shows: 'Apply to 2 chosen' });
    await page.getByRole('button', { name: 'Delete 2 chosen' }).click();
    await question.getByText('Delete 2 rows?').waitFor();
    expect(await page.getByText('Deleted').count()).toBe(0);
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await page.getByText('Deleted 1,3').waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/[.]csv$/);
    expect(await readFile(await file.path(), 'utf8')).toBe('\uFEFFid,name\r\n1,row 1\r\n2,row 2\r\n3,row 3\r\n');
    await page.getByText('Exported 3').waitFor();
    expect(faults).toEqual([]);
  });
}
