import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { markedAnew } from './keys.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Workflows are built in the editor: once with the mouse, once by the keyboard. */
export function buildingTests(stage: () => Stage): void {
  const anEditor = async (title: string) => {
    const { cluster, tenant, go, path } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const ends = ['start', 'end'].map((id) => ({ id, type: id, data: { title: id === 'start' ? 'Start' : 'End' } }));
    const way = { id: 'way', source: 'start', target: 'end' };
    const made = await client.post('T/workflows', { title, workflowNodes: ends, workflowEdges: [way], draft: true });
    const { id } = made.body.workflow as { id: string };
    await go(path(`/workflows/${id}`));
    return async () => {
      const { body } = await client.get(`T/workflows/${id}`);
      const found = body.workflow.workflowEdges as { source: string; sourceHandle?: string; target: string }[];
      return found.map(({ source, sourceHandle = '', target }) => `${source}.${sourceHandle}>${target}`).sort();
    };
  };

  test('with the mouse: a step on an edge, one dropped on the canvas, a way drawn to a step, and a loop with its body', async () => {
    const { page } = stage();
    const edges = await anEditor('Built with the mouse');
    const dialog = page.getByRole('dialog');
    await page.locator('.edge-label').getByRole('button', { name: 'Add a step here' }).click();
    await expectAccessible(page, { name: 'editor-kinds', shows: 'Runs a saved query', schemes: ['light'] });
    await dialog.getByRole('combobox', { name: 'Find a step' }).fill('if');
    await expectAccessible(page, { name: 'editor-add', shows: 'Goes on by the first branch' });
    await dialog.getByRole('option', { name: /^Condition/ }).click();
    await dialog.getByText('Which exit of the condition leads on').waitFor();
    await dialog.getByRole('button', { name: 'yes', exact: true }).click();

    const handle = (step: string, exit: string) => page.locator(`[data-id="${step}"] [data-handleid="${exit}"]`);
    await page.getByRole('button', { name: 'Close the step' }).click();
    const canvas = await boxOf(page.locator('.react-flow__pane'));
    await dragTo(page, handle('condition', 'default'), { x: canvas.x + 120, y: canvas.y + canvas.height - 140 });
    await dialog.getByText('Add a step behind “Condition”, otherwise').waitFor();
    await dialog.getByRole('option', { name: /^Approval/ }).click();
    await page.getByRole('button', { name: 'Close the step' }).click();
    const target = await boxOf(page.locator('[data-id="end"] .react-flow__handle.target'));
    await dragTo(page, handle('approval', 'approved'), { x: target.x + 5, y: target.y + 5 });
    await page.locator('.edge-label', { hasText: 'approved' }).waitFor();
    // Each button that adds a step can be pressed: none is on another one, nor on the name of an exit.
    await expect.poll(() => covered(page)).toEqual([]);

    // The API refuses a way back: nothing is connected.
    const first = await boxOf(page.locator('[data-id="condition"] .react-flow__handle.target'));
    await dragTo(page, handle('approval', 'rejected'), { x: first.x + 5, y: first.y + 5 });
    await page.getByText('Steps as a list').click();
    await page.getByRole('row', { name: /^Approve Approval .* approved: End$/ }).waitFor();
    await page.getByText('Steps as a list').click();

    await page.locator('[data-id="condition"]').click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    await panel.getByRole('button', { name: 'Add a step: on error' }).click();
    await dialog.getByRole('combobox', { name: 'Find a step' }).fill('for each');
    await dialog.getByRole('option', { name: /^Loop/ }).click();
    await page.getByRole('button', { name: 'Tidy up' }).click();
    await panel.getByRole('button', { name: 'Add a step: for each item' }).click();
    await dialog.getByRole('option', { name: /^HTTP request/ }).click();
    // The panel was scrolled to the ways of the step before; that of a new one begins with its first field.
    await expect.poll(() => panel.evaluate((element: { scrollTop: number }) => element.scrollTop)).toBe(0);
    await page.locator('.body-box').waitFor();
    await expectAccessible(page, { name: 'editor-built', shows: 'HTTP request' });
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    expect(await edges()).toEqual([
      ...['approval.approved>end', 'condition.default>approval', 'condition.error>loop', 'condition.yes>end'],
      ...['loop.loop>http', 'start.>condition'],
    ]);
  });

  test('by the keyboard: steps are added behind exits, copied, disabled, removed with the ways led on, and taken back', async () => {
    const { page } = stage();
    const edges = await anEditor('Built by keyboard');
    const dialog = page.getByRole('dialog');
    const find = dialog.getByRole('combobox', { name: 'Find a step' });
    await page.getByRole('button', { name: 'Add a step', exact: true }).press('Enter');
    await find.press('Escape');
    await page.locator('[data-id="start"]').press('Enter');
    await page.locator('[data-id="start"]').press('a');
    await find.pressSequentially('rest');
    await find.press('Enter');
    await page.getByRole('heading', { name: 'HTTP request' }).waitFor();
    const card = page.locator('[data-id="http"]');
    await page.getByRole('button', { name: 'Close the step' }).press('Enter');
    await card.press('Enter');
    const focused = () => page.evaluate<string>("document.activeElement?.getAttribute('aria-label')");
    await expect.poll(focused).toBe('Step');
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('HTTP request, HTTP request');
    await card.press('Enter');

    await card.press('d');
    await page.locator('[aria-label="HTTP request, HTTP request"] [data-disabled]').waitFor();
    await card.press('d');
    await card.press('Control+c');
    await card.press('Control+v');
    await page.getByText('1 step pasted.').waitFor();
    await page.getByText('Steps as a list').press('Enter');
    await page.getByRole('row', { name: /^HTTP request 2 HTTP request .* –$/ }).waitFor();
    await page.getByRole('button', { name: 'HTTP request', exact: true }).press('Enter');
    const panel = page.getByRole('complementary', { name: 'Step' });
    await panel.getByRole('button', { name: 'Connect: on error' }).press('Enter');
    await panel.getByRole('combobox', { name: 'Lead to, on error' }).pressSequentially('request 2');
    await page.getByRole('option', { name: 'HTTP request 2' }).waitFor();
    await markedAnew(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^HTTP request HTTP request .* End, on error: HTTP request 2$/ }).waitFor();

    await page.getByRole('button', { name: 'HTTP request', exact: true }).press('Delete');
    await page.getByRole('row', { name: /^Start Start .* End$/ }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('row', { name: /on error: HTTP request 2$/ }).waitFor();
    await page.locator('[data-id="http2"]').press('n');
    await page.getByRole('textbox', { name: 'Text of the note' }).fill('Ask twice');
    await expectAccessible(page, { name: 'editor-note', shows: 'Steps as a list' });
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    expect(await edges()).toEqual(['http.error>http2', 'http.success>end', 'start.>http']);
    await page.reload();
    await page.getByRole('textbox', { name: 'Text of the note' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Text of the note' }).inputValue()).toBe('Ask twice');
  });

  test('the menu folds to icons, which keep their names, and is folded when one comes again', async () => {
    const { page } = stage();
    await anEditor('Folded');
    const menu = page.getByRole('navigation', { name: 'Pages' });
    const widthOf = async () => (await boxOf(menu)).width;
    const fold = menu.getByRole('button', { name: 'Fold the menu' });
    // The browser remembers what a try before has folded.
    if ((await fold.getAttribute('aria-expanded')) === 'false') await fold.click();
    await expect.poll(widthOf).toBe(200);
    await fold.click();
    await expect.poll(widthOf).toBe(56);
    await page.reload();
    await menu.getByRole('link', { name: 'Workflows' }).waitFor();
    expect(await widthOf()).toBe(56);
    expect(await fold.getAttribute('aria-expanded')).toBe('false');
    await expectAccessible(page, { name: 'editor-folded', shows: 'Steps as a list' });
    await fold.click();
    await expect.poll(widthOf).toBe(200);
    // Beside the assistant, the graph and the panel of a step keep their room: the menu is folded, and the head takes one line.
    await page.keyboard.press('Control+j');
    await page.getByRole('complementary', { name: 'Assistant' }).waitFor();
    await expect.poll(widthOf).toBe(56);
    expect((await boxOf(page.locator('.editor-head'))).height).toBeLessThan(70);
    await page.getByRole('button', { name: 'Save draft' }).waitFor();
    await page.keyboard.press('Control+j');
    await expect.poll(widthOf).toBe(200);
    await page.setViewportSize({ width: 400, height: 800 });
    await page.getByRole('button', { name: 'Add a step', exact: true }).waitFor();
    const top = async (name: string) => (await boxOf(page.getByRole('button', { name, exact: true }))).y;
    expect(await top('More')).toBe(await top('Settings'));
    expect(await top('Add a step')).toBe(await top('Undo'));
    await page.setViewportSize({ width: 1280, height: 800 });
  });
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function boxOf(locator: Locator): Promise<Box> {
  const box = await locator.boundingBox();
  if (!box) throw new Error('the element is not shown');
  return box;
}

async function dragTo(page: Page, from: Locator, { x, y }: { x: number; y: number }): Promise<void> {
  const box = await boxOf(from);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(x - 20, y - 20, { steps: 4 });
  await page.mouse.move(x, y, { steps: 3 });
  await page.mouse.up();
}

/** Names of exits and buttons of the graph that another one covers. */
async function covered(page: Page): Promise<string[]> {
  const parts = page.locator(
    ':is(.open-exit:not([data-exit="error"]), .edge-label) :is(button, .exit-name, .edge-name)',
  );
  const named = await Promise.all(
    (await parts.all()).map(async (part) => ({ name: await part.textContent(), box: await boxOf(part) })),
  );
  const meets = (one: Box, other: Box) =>
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height;
  return named.flatMap(({ name, box }, at) =>
    named.slice(at + 1).flatMap((other) => (meets(box, other.box) ? [`${name} ${other.name}`] : [])),
  );
}
