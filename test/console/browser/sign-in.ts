import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startApi } from '#api/app/listen.ts';
import { readConfig } from '#shared/process/config.ts';
import { testLogger } from '#test/support/environment.ts';
import { aTenant } from '#test/support/factories.ts';
import { startOidcProvider } from '#test/support/oidc-provider.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Longer by this than the time before its end at which a token is renewed (two minutes). */
const LIVES_SECONDS = 123;

/** Signing in at a real provider of identities. */
export function signInTests(stage: () => Stage): void {
  test('by OpenID Connect, with tokens of another origin: the token is renewed before it ends, for the socket too', async () => {
    const { cluster, visit } = stage();
    await using provider = await startOidcProvider({ idTokenSeconds: LIVES_SECONDS, hasTokensElsewhere: true });
    const { METRICS_PORT: _, ...env } = cluster.env;
    const settings = { AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: 'gantry', DEV_ISSUER_KEY_FILE: '', PORT: '0' };
    await using api = await startApi({ config: readConfig({ ...env, ...settings }), logger: testLogger });
    const consoleURL = `http://127.0.0.1:${api.port}/console/`;
    provider.allow(`${consoleURL}signed-in`);
    const page = await visit(consoleURL);
    const ofSockets = tokensOfSockets(page);
    // Until the test lets it, no token is renewed: a slow page would else show the second one alone.
    const mayRenew = Promise.withResolvers<void>();
    await page.route('**/token', async (route) => {
      if (route.request().postData()?.includes('grant_type=refresh_token')) await mayRenew.promise;
      await route.continue();
    });

    const signIn = async () => {
      await page.getByRole('button', { name: /^Sign in at 127/ }).click();
      await page.getByLabel('Account').fill('ada@example.com');
      await page.getByRole('button', { name: 'Go on' }).click();
    };
    await expectAccessible(page, { name: 'sign-in-provider', shows: 'Sign in at', schemes: ['light'] });
    await signIn();
    await page.getByText('You are in no tenant yet').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/');
    // A provider that keeps to the standard gives a refresh token with a consent only, which is then asked for.
    expect(await sessionOf(page)).toMatchObject({ email: 'ada@example.com', renewal: { kind: 'provider' } });
    expect((await sessionOf(page)).renewal.refreshToken).toBeUndefined();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn();
    await page.getByText('You are in no tenant yet').waitFor();

    const { token: first, renewal } = await sessionOf(page);
    expect(renewal.refreshToken).toMatch(/./);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await expect.poll(() => ofSockets.at(-1)).toBe(first);
    mayRenew.resolve();
    await expect.poll(() => provider.refreshes).toBeGreaterThan(0);
    await expect.poll(async () => (await sessionOf(page)).token).not.toBe(first);
    await expect.poll(async () => ofSockets.at(-1) === (await sessionOf(page)).token).toBe(true);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await page.getByText('You are in no tenant yet').waitFor();
    await page.close();
  });

  test('as another user in the same tab: nothing is shown that the one before has read', async () => {
    const { cluster, visit } = stage();
    const tenant = await aTenant(cluster);
    const page = await visit(`${cluster.baseURL}/console/`);
    const signIn = async (email: string) => {
      await page.getByLabel('E-mail address').fill(email);
      await page.keyboard.press('Enter');
    };
    // A member of one tenant alone has none to choose; the list is still there.
    await signIn(tenant.creator.email);
    await page.waitForURL(`**/console/t/${tenant.id}`);
    await page.getByRole('link', { name: 'Gantry, all tenants' }).click();
    await page.locator(`a[href*="${tenant.id}"]`).first().waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn('next-user@example.com');
    await page.getByText('You are in no tenant yet').waitFor();
    expect(await page.locator(`a[href*="${tenant.id}"]`).count()).toBe(0);
    await page.close();
  });
}

interface Stored {
  token: string;
  email: string;
  renewal: { kind: string; refreshToken?: string };
}

async function sessionOf(page: Page): Promise<Stored> {
  return JSON.parse(await page.evaluate("sessionStorage.getItem('gantry.session')"));
}

/** The tokens with which the page has opened its sockets, in their order. */
function tokensOfSockets(page: Page): string[] {
  const tokens: string[] = [];
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const [, connecting] = /^40(\{.*\})$/.exec(payload.toString()) ?? [];
      if (connecting) tokens.push(JSON.parse(connecting).token);
    }),
  );
  return tokens;
}
