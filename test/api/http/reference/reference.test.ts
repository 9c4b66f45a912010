import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import { expectIcon } from '#test/support/icon.ts';
import { type SmallApi, startSmallApi } from '#test/support/small-api.ts';
import { findChromium } from '../../../servers/chromium.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The tests of the reference in a browser are skipped: ${found.reason}\n`);

let api: SmallApi;
beforeAll(async () => {
  api = await startSmallApi(routes);
});
afterAll(() => api[Symbol.asyncDispose]());

describe('the reference page', () => {
  test('loads scripts from this server only, and its policy allows no others', async () => {
    const { status, body, headers } = await api.send('GET', '/docs');
    const policy = headers.get('content-security-policy') ?? '';
    const scripts = [...body.matchAll(/<script src="([^"]+)"/g)].map(([, path]) => path);

    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(scripts).toEqual([
      expect.stringMatching(/^\/docs\/start\.\w+\.js$/),
      expect.stringMatching(/^\/docs\/scalar\.\w+\.js$/),
    ]);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    for (const path of scripts) {
      const script = await api.send('GET', path);
      expect(script).toMatchObject({ status: 200, body: expect.stringContaining('Scalar') });
      expect(script.headers.get('cache-control')).toContain('immutable');
    }
  });

  test('has an icon', () => expectIcon(`${api.url}/docs`));

  test('sends its script compressed or plain, as the client accepts, and only under its current name', async () => {
    const { body } = await api.send('GET', '/docs');
    const [path = ''] = /\/docs\/scalar\.\w+\.js/.exec(body) ?? [];

    const [compressed, plain] = await Promise.all(
      ['gzip', 'identity'].map((encoding) => api.send('GET', path, undefined, { 'accept-encoding': encoding })),
    );

    expect(compressed?.headers.get('content-encoding')).toBe('gzip');
    expect(plain?.headers.get('content-encoding')).toBe(null);
    expect(plain?.body).toBe(compressed?.body);
    expect((await api.send('GET', '/docs/scalar.000000000000.js')).status).toBe(404);
  });
});

describe.skipIf(found.path === null)(
  'the reference page in a browser',
  () => {
    let browser: Browser;
    let page: Page;
    let tenantID: string;
    const faults: string[] = [];
    const hosts = new Set<string>();

    beforeAll(async () => {
      const you = await api.as('you@example.com');
      const { body } = await you.send('POST', '/api/v1/tenants', { tenantTitle: 'Northwind' });
      tenantID = body.tenant.tenantID;
      browser = await chromium.launch({
        executablePath: found.path ?? '',
        args: ['--no-sandbox', '--js-flags=--no-opt', '--disable-gpu'],
      });
      page = await browser.newPage();
      await page.addInitScript(
        "document.addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))",
      );
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      page.on('request', (request) => hosts.add(new URL(request.url()).host));
      await page.goto(`${api.url}/docs`);
      await page.getByRole('heading', { name: 'Gantry' }).waitFor();
    });
    afterAll(() => browser.close());

    afterEach(() => {
      expect(faults).toEqual([]);
      expect([...hosts]).toEqual([new URL(api.url).host]);
    });

    test('lists the groups of the routes', async () => {
      for (const name of ['Service and authentication', 'Things', 'Development'])
        await page.getByText(name, { exact: true }).first().waitFor();
    });

    test('finds an operation by its name, and shows code with an existing tenant', async () => {
      await search('getTableStatistics');

      const section = sectionOf('Get the statistics of a table');
      await section.getByText(`curl 'http`).first().waitFor();
      const text = await section.textContent();
      expect(page.url()).toMatch(/#.*getTableStatistics$/);
      expect(text).toContain(`${api.url}/api/v1/tenants/${tenantID}/database/schemas`);
      expect(text).toContain('Authorization: Bearer ey');
      expect(text).toContain('database.tableRead');
    });

    test('sends a request with a token of the development issuer', async () => {
      await search('listTenants');

      await sectionOf('List tenants').getByRole('button', { name: 'Test Request' }).first().click();
      const dialog = page.getByRole('dialog').last();
      const answered = page.waitForResponse((response) => response.url().includes('/api/v1/tenants?page='));
      await dialog.getByRole('button', { name: /^Send/ }).first().click();

      const answer = await (await answered).json();
      expect(answer).toMatchObject({ success: true, tenants: [{ tenantID, tenantTitle: 'Northwind' }] });
      await dialog.getByText('200 OK').first().waitFor();
      await dialog.getByText('Northwind').first().waitFor();
    });

    async function search(text: string): Promise<void> {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      await page.getByRole('option').first().click();
    }

    function sectionOf(title: string) {
      return page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: title }) })
        .last();
    }
  },
  60_000,
);
