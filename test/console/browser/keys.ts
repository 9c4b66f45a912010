import type { Locator, Page } from 'playwright-core';

const MAX_TABS = 80;

/** Tabs on until this has the focus: what is not reached so cannot be used without a mouse. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  const hasFocus = () => target.evaluate((element: Matched) => element.matches(':focus'));
  await target.waitFor();
  for (let n = 0; n < MAX_TABS; n += 1) {
    if (await hasFocus()) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${target}`);
}

/**
 * Once a list of Mantine is open, a timer of no time sets the marked option back. An arrow before it would mark an option that Enter then
 * does not choose: it sends the form.
 */
export async function markedAnew(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => setTimeout(done))');
}

/** Chooses from an open list by the arrow keys. */
export async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('option', { name, exact: true }).waitFor();
  await markedAnew(page);
  const names = await page.getByRole('option').allInnerTexts();
  const isMarked = () => page.locator('[data-combobox-selected]').getByText(name, { exact: true }).count();
  for (const _ of names) {
    if ((await isMarked()) > 0) break;
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
}

/** An element, for which this project has no type. */
interface Matched {
  matches(selector: string): boolean;
}
