/** Connecting an account in a real browser, at a real provider: the page, its window, and the way back. */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findChromium } from '../../../servers/chromium.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, type TestTenant } from '../../../support/factories.ts';
import { type HTTPServer, startHTTP } from '../../../support/http-server.ts';
import { connecting, denyingAccount, type OidcProvider, startOidcProvider } from '../../../support/oidc-provider.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of OAuth in a browser is skipped: ${found.reason}\n`);

/** One registrable domain, as in production; the provider is another site. */
const publicURL = 'http://api.gantry.test';
const [ui, unlisted] = ['http://admin.gantry.test', 'http://other.gantry.test'];

const page = `<!doctype html><title>Accounts</title><button>Connect</button><output></output><script>
const [tenantID, token] = location.hash.slice(1).split(',');
addEventListener('message', ({ origin, data }) => {
  document.querySelector('output').textContent = JSON.stringify({ origin, ...data });
});
document.querySelector('button').onclick = async () => {
  const headers = { authorization: 'Bearer ' + token };
  const answer = await fetch('${publicURL}/api/v1/oauth/acme/' + tenantID + '/url', { credentials: 'include', headers });
  open((await answer.json()).url, '', 'popup');
};
</script>`;

describe.skipIf(found.path === null)('a window in which an account is connected', () => {
  let provider: OidcProvider;
  let cluster: Cluster;
  let pages: HTTPServer;
  let browser: Browser;
  let context: BrowserContext;
  let tenant: TestTenant;

  beforeAll(async () => {
    provider = await startOidcProvider({ publicURL });
    const acme = {
      authorizationURL: `${provider.issuer}/auth`,
      tokenURL: `${provider.issuer}/token`,
      revocationURL: `${provider.issuer}/token/revocation`,
      issuer: provider.issuer,
      ...connecting,
      scopes: ['openid', 'email'],
    };
    const settings = { PUBLIC_URL: publicURL, CORS_ORIGINS: ui, OAUTH_PROVIDERS: JSON.stringify({ acme }) };
    cluster = await startCluster({ workers: ['oauth.exchange'], settings });
    pages = await startHTTP((_request, response) => void response.setHeader('content-type', 'text/html').end(page));
    const hosts = {
      'api.gantry.test': cluster.baseURL,
      'admin.gantry.test': pages.origin,
      'other.gantry.test': pages.origin,
    };
    const rules = Object.entries(hosts).map(([name, url]) => `MAP ${name}:80 ${new URL(url).host}`);
    const args = ['--no-sandbox', `--host-resolver-rules=${rules.join(',')}`];
    browser = await chromium.launch({ executablePath: found.path ?? '', args });
  });
  afterAll(async () => {
    await browser?.close();
    await pages?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    tenant = await aTenant(cluster);
    context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    return () => context.close();
  });

  async function openPage(origin: string): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(`${origin}/#${tenant.id},${await cluster.tokenFor(tenant.creator)}`);
    return opened;
  }

  /** The provider's window, which the page opens. */
  async function press(opened: Page): Promise<Page> {
    const [popup] = await Promise.all([opened.waitForEvent('popup'), opened.getByRole('button').click()]);
    return popup;
  }

  const outcomeIn = async (opened: Page) =>
    JSON.parse((await opened.locator('output:not(:empty)').textContent()) ?? '');
  const connections = async () =>
    (await cluster.as(tenant.creator).in(tenant).get('T/oauth-connections')).body.oauthConnections;

  test('closes, tells its page, and leaves a connection whose tokens end with it', async () => {
    const opened = await openPage(ui);
    const popup = await press(opened);

    await popup.getByLabel('Account').fill('ada@example.com');
    await Promise.all([popup.waitForEvent('close'), popup.getByRole('button', { name: 'Go on' }).click()]);

    const outcome = await outcomeIn(opened);
    expect(outcome).toMatchObject({ origin: publicURL, type: 'OAUTH_SUCCESS', provider: 'acme' });
    const [connection] = await connections();
    expect(connection).toMatchObject({ id: outcome.oauthConnectionID, accountEmail: 'ada@example.com' });
    // The cookie of the flow is gone.
    expect(await context.cookies(`${publicURL}/api/v1/oauth/acme/callback`)).toEqual([]);

    const path = `T/oauth-connections/${connection.id}`;
    expect((await cluster.as(tenant.creator).in(tenant).delete(path)).status).toBe(200);
    await expect.poll(() => provider.revocations).toBe(2);
  });

  test('tells its page that the access was denied', async () => {
    const opened = await openPage(ui);
    const popup = await press(opened);

    await popup.getByLabel('Account').fill(denyingAccount);
    await Promise.all([popup.waitForEvent('close'), popup.getByRole('button', { name: 'Go on' }).click()]);

    expect(await outcomeIn(opened)).toMatchObject({ type: 'OAUTH_FAILURE', error: 'Access was denied at acme' });
    expect(await connections()).toEqual([]);
  });

  test('does not open from a page of an origin that is not listed', async () => {
    const opened = await openPage(unlisted);
    const refused = opened.waitForEvent('pageerror');

    await opened.getByRole('button').click();

    expect((await refused).message).toMatch(/Failed to fetch/);
    expect(context.pages()).toHaveLength(1);
  });

  test('that another browser has begun connects nothing', async () => {
    const { body } = await cluster.as(tenant.creator).get(`/api/v1/oauth/acme/${tenant.id}/url`, { origin: ui });
    const victim = await context.newPage();
    await victim.goto(body.url);

    await victim.getByLabel('Account').fill('victim@example.com');
    await victim.getByRole('button', { name: 'Go on' }).click();

    await victim.getByRole('heading', { name: 'Not connected' }).waitFor();
    await victim.getByText('This did not begin in this browser').waitFor();
    expect(await connections()).toEqual([]);
  });
});
