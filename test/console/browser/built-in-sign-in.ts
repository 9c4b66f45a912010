import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startApi } from '#api/app/listen.ts';
import { ensureAccount } from '#api/sign-in/accounts.ts';
import { makeLink } from '#api/sign-in/links.ts';
import { freePort } from '#ops/embedded/ports.ts';
import { readConfig } from '#shared/process/config.ts';
import { testLogger } from '#test/support/environment.ts';
import { aTenant } from '#test/support/factories.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { expectAccessible, type Stage } from './stage.ts';

const password = 'seven brown foxes under a bridge';
const email = 'built-in@example.com';

/** Signing in at the service itself. */
export function builtInSignInTests(stage: () => Stage): void {
  test('with an invitation, a password, codes of an app and a passkey, in the console', async () => {
    const { cluster, visit, faults } = stage();
    await using service = await startBuiltIn(stage());
    const accountID = await ensureAccount(cluster.pool, email);
    const token = await makeLink(cluster.pool, { accountID, purpose: 'INVITATION' });
    const page = await visit(`${service.site}/sign-in/link/${token}`);
    await expectAccessible(page, { name: 'sign-in-invitation', shows: 'Welcome to Gantry' });

    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('link', { name: 'Go to Gantry' }).click();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Password').waitFor();
    await expectAccessible(page, { name: 'sign-in-password', shows: 'Sign in to Gantry' });
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('The e-mail address or the password is wrong').waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining('401')]);
    await givePassword(page);
    await page.getByText('You are in no tenant yet').waitFor();

    await chooseInMenu(page, 'Sign-in and security');
    await expectAccessible(page, { name: 'sign-in-account', shows: 'Where you are signed in' });
    await page.getByText('Set it up').click();
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Set up an app' }) });
    await form.getByLabel('Your password').fill(password);
    await form.getByRole('button').click();
    const secret = ((await page.locator('code').textContent()) ?? '').replaceAll(' ', '');
    await expectAccessible(page, { name: 'sign-in-totp', shows: 'Read this code with your app' });
    await page.getByLabel('Type the code').fill(codeOf(secret, 0));
    await page.getByRole('button', { name: 'Turn it on' }).click();
    await expectAccessible(page, { name: 'sign-in-recovery', shows: 'Your recovery codes' });
    await page.getByRole('link', { name: 'I have kept them' }).click();
    await addPasskey(page);
    await expectAccessible(page, { name: 'sign-in-account-full', shows: 'A key of tests' });
    await page.getByRole('link', { name: 'Back to Gantry' }).click();

    await page.route('**/sign-in/sign-out', (route) => route.fulfill({ status: 503 }), { times: 1 });
    await chooseInMenu(page, 'Sign out');
    await page.getByText('You are still signed in').waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining('503')]);
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await givePassword(page);
    await expectAccessible(page, { name: 'sign-in-second', shows: 'One more step' });
    // The step before was used to set it up.
    await page.getByLabel('Code of your app').fill(codeOf(secret, 30_000));
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('You are in no tenant yet').waitFor();

    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('You are in no tenant yet').waitFor();
    const { rows } = await cluster.pool.query(
      'select action from sign_in_audit where account_id = $1 order by created_at, id',
      [accountID],
    );
    expect(rows.map(({ action }) => action)).toEqual([
      ...['INVITATION_ACCEPTED', 'PASSWORD_WRONG', 'SIGNED_IN', 'TOTP_ADDED', 'PASSKEY_ADDED', 'SIGNED_OUT'],
      ...['SIGNED_IN', 'SIGNED_OUT', 'SIGNED_IN'],
    ]);
    await page.close();
  });

  test('tabs with the same session renew it once, and hand it on: a tab that is duplicated, and one that was away', async () => {
    const { cluster, context } = stage();
    // The cookies of another port of this host are sent, too.
    await context.clearCookies();
    await using service = await startBuiltIn(stage());
    const { page } = await signUp(stage(), service, 'tabs@example.com');
    let renewals = 0;
    context.on('request', (request) => {
      if (request.postData()?.includes('grant_type=refresh_token')) renewals += 1;
    });
    const opened = page.waitForEvent('popup');
    await page.evaluate("void window.open('/console/')");
    const other = await opened;
    await other.getByText('You are in no tenant yet').waitFor();
    const first = await refreshTokenOf(page);
    expect(await refreshTokenOf(other)).toBe(first);

    await endSoon(page);
    await page.reload();
    await expect.poll(() => refreshTokenOf(page)).not.toBe(first);
    await expect.poll(() => refreshTokenOf(other)).toBe(await refreshTokenOf(page));

    const second = await refreshTokenOf(page);
    await endSoon(other);
    await other.goto('about:blank');
    await endSoon(page);
    await page.reload();
    await expect.poll(() => refreshTokenOf(page)).not.toBe(second);
    // So long ago that the one before is accepted no more.
    await cluster.pool.query(
      `update sign_in_record set consumed_at = consumed_at - interval '1 minute' where kind = 'RefreshToken'`,
    );
    await other.goto(`${service.site}/console/`);
    await expect.poll(() => refreshTokenOf(other)).toBe(await refreshTokenOf(page));

    const third = await refreshTokenOf(page);
    renewals = 0;
    const mayAnswer = Promise.withResolvers<void>();
    await context.route('**/token', async (route) => {
      await mayAnswer.promise;
      await route.continue();
    });
    await Promise.all([endSoon(page), endSoon(other)]);
    await Promise.all([page.reload(), other.reload()]);
    const waiting = 'navigator.locks.query().then(({ pending }) => pending.length)';
    await expect.poll(async () => renewals + (await page.evaluate<number>(waiting))).toBe(2);
    mayAnswer.resolve();
    await expect.poll(() => refreshTokenOf(page)).not.toBe(third);
    await expect.poll(() => refreshTokenOf(other)).toBe(await refreshTokenOf(page));
    expect(renewals).toBe(1);
    await context.unroute('**/token');
    await other.close();
    await page.close();
  });

  test('connecting an app by its page of consent, and disconnecting it', async () => {
    const { cluster, context } = stage();
    await context.clearCookies();
    await using service = await startBuiltIn(stage());
    const { page, accountID } = await signUp(stage(), service, 'apps@example.com');
    const { rows } = await cluster.pool.query('select id, email from app_user where subject = $1', [accountID]);
    const tenant = await aTenant(cluster, { creator: rows[0], tenantTitle: 'Northwind' });
    await using app = await startHTTP((_request, response) => void response.end('Back in the app'));
    const back = `${app.origin}/callback`;

    await page.goto(await addressOfApp(service, tenant.id, back));
    await expectAccessible(page, { name: 'sign-in-consent', shows: 'asks to work in the tenant Northwind' });
    await page.getByLabel('Read and change data').uncheck();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('Back in the app').waitFor();
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^[\w-]+$/);

    await page.goto(`${service.site}/console/t/${tenant.id}/settings/tools`);
    await page.getByText(`${service.mcpURL}/tenants/${tenant.id}/mcp`).waitFor();
    await expectAccessible(page, { name: 'settings-tools-address', shows: 'Connect an AI client' });
    await page.getByRole('link', { name: 'Your connected apps' }).click();
    await page.getByText('What it may do').click();
    await expectAccessible(page, { name: 'sign-in-apps', shows: 'Run workflows, and see' });
    expect(await page.getByText('Read and change data').count()).toBe(0);
    await page.getByRole('button', { name: 'Disconnect An app' }).click();
    await page.getByText('There are none.').waitFor();
    await page.close();
  });
}

/** Chooses a password by an invitation, and signs in. */
async function signUp({ cluster, visit }: Stage, { site }: { site: string }, address: string) {
  const accountID = await ensureAccount(cluster.pool, address);
  const token = await makeLink(cluster.pool, { accountID, purpose: 'INVITATION' });
  const page = await visit(`${site}/sign-in/link/${token}`);
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByRole('link', { name: 'Go to Gantry' }).click();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail address').fill(address);
  await givePassword(page);
  await page.getByText('You are in no tenant yet').waitFor();
  return { page, accountID };
}

/** Where a client of MCP that has registered sends the browser of its user. */
async function addressOfApp(
  { site, mcpURL }: { site: string; mcpURL: string | undefined },
  tenantID: string,
  back: string,
) {
  const registered = await fetch(`${site}/sign-in/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'An app', redirect_uris: [back] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const asked = { client_id, redirect_uri: back, resource: `${mcpURL}/tenants/${tenantID}/mcp`, response_type: 'code' };
  const proof = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
  return `${site}/sign-in/auth?${new URLSearchParams({ ...asked, ...proof })}`;
}

async function startBuiltIn({ cluster }: Stage) {
  const port = await freePort();
  // A name, since browsers tie passkeys to no address.
  const site = `http://localhost:${port}`;
  const { METRICS_PORT: _, ...env } = cluster.env;
  const settings = { AUTH: 'builtin', DEV_ISSUER_KEY_FILE: '', PORT: String(port), PUBLIC_URL: site };
  const config = readConfig({ ...env, ...settings });
  const api = await startApi({ config, logger: testLogger });
  return { site, mcpURL: config.mcp.publicURL, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

async function refreshTokenOf(page: Page): Promise<string> {
  const stored: string = await page.evaluate("sessionStorage.getItem('gantry.session')");
  return JSON.parse(stored).renewal.refreshToken;
}

/** The next load of the page finds a token that ends soon, and renews it. */
async function endSoon(page: Page): Promise<void> {
  await page.evaluate(`{
    const stored = JSON.parse(sessionStorage.getItem('gantry.session'));
    sessionStorage.setItem('gantry.session', JSON.stringify({ ...stored, expiresAt: Date.now() + 100_000 }));
  }`);
}

async function givePassword(page: Page): Promise<void> {
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function chooseInMenu(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

async function signOut(page: Page): Promise<void> {
  await chooseInMenu(page, 'Sign out');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
}

async function addPasskey(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  await page.getByText('Add a passkey').click();
  const form = page.locator('form', { has: page.getByLabel('Name') });
  await form.getByLabel('Your password').fill(password);
  await form.getByLabel('Name').fill('A key of tests');
  await form.getByRole('button').click();
  await page.getByRole('button', { name: 'Make the passkey' }).click();
  await page.getByText('A key of tests').first().waitFor();
}

function codeOf(secret: string, laterMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + laterMs });
}
