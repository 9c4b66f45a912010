import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setDisabled } from '#api/sign-in/accounts.ts';
import { firstInvitation, makeLink } from '#api/sign-in/links.ts';
import type { Cluster } from '#test/support/cluster.ts';
import {
  acceptInvitation,
  anAccount,
  issuer,
  openSignIn,
  password,
  programAt,
  signIn,
  site,
  startSignInCluster,
  visit,
} from '#test/support/sign-in.ts';
import type { Page, Visitor } from '#test/support/visitor.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startSignInCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A page without what is another one for each sign-in. */
const textOf = ({ status, text }: Page, email: string) => ({
  status,
  text: text.replaceAll(/interaction\/[\w-]+/g, '').replaceAll(email, ''),
});

function codeOf(secret: string, laterMs = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + laterMs });
}

/** Sets up an app for codes, in a browser that is signed in; answers with its secret and the recovery codes. */
async function addTOTP(visitor: Visitor): Promise<{ secret: string; code: string; codes: string[] }> {
  const page = await visitor.open(`${issuer}/account`);
  const form = page.text.match(/<form[\s\S]*?<\/form>/g)?.findIndex((markup) => markup.includes('/account/totp"')) ?? 0;
  const setUp = await visitor.submit(page, { current: password }, { form });
  const secret = /<code>([^<]+)/.exec(setUp.text)?.[1]?.replaceAll(' ', '') ?? '';
  const code = codeOf(secret);
  const done = await visitor.submit(setUp, { code });
  return { secret, code, codes: [...done.text.matchAll(/<li>([^<]+)/g)].map(([, code = '']) => code) };
}

async function aSignedIn(email: string, ip?: string): Promise<Visitor> {
  await anAccount(cluster, email);
  const visitor = visit(cluster, ip);
  const { page } = await signIn(visitor, { email });
  expect(page.leadsTo?.href).toContain(`${site}/console/signed-in?code=`);
  return visitor;
}

test('an unknown address, a wrong password, an open invitation and a disabled account look alike', async () => {
  const { accountID } = await anAccount(cluster, 'known@example.com');
  const disabled = await anAccount(cluster, 'disabled@example.com');
  await setDisabled(cluster.pool, disabled.accountID, true);
  await cluster.pool.query("insert into sign_in_account (id, email) values (gen_random_uuid(), 'invited@example.com')");
  const tried: [string, string][] = [
    ['nobody@example.com', password],
    ['known@example.com', 'not the right one at all'],
    ['invited@example.com', ''],
    ['disabled@example.com', password],
  ];

  const pages = [];
  for (const [email, chosen] of tried)
    pages.push(textOf((await signIn(visit(cluster), { email, chosen })).page, email));

  expect(pages[0]).toMatchObject({ status: 401 });
  expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
  const { rows } = await cluster.pool.query(
    "select account_id from sign_in_audit where action = 'PASSWORD_WRONG' order by created_at, id",
  );
  expect(rows.length, 'each attempt does the same work').toBe(4);
  expect(rows[1].account_id).toBe(accountID);
});

describe('a session', () => {
  test('gets a new name at the sign-in, so that one which was planted before is not signed in', async () => {
    const email = 'fixed@example.com';
    await anAccount(cluster, email);
    const visitor = visit(cluster);
    await signIn(visitor, { email });
    const before = new Map(visitor.cookies);
    const page = await visitor.open((await openSignIn(visitor, { prompt: 'login' })).page.url);
    await visitor.submit(page, { email, password });
    const planted = visit(cluster);
    for (const [name, value] of before) planted.cookies.set(name, value);

    expect((await visitor.open(`${issuer}/account`)).text).toContain('Signed in as');
    expect((await planted.open(`${issuer}/account`)).text).not.toContain('Signed in as');
  });

  test('ends where another account signs in, in the same browser', async () => {
    const visitor = await aSignedIn('first-of-two@example.com');
    await anAccount(cluster, 'second-of-two@example.com');
    const { page } = await openSignIn(visitor, { prompt: 'login' });
    // oidc-provider sends a form by a script, with a button for browsers without.
    const ending = await visitor.submit(page, { email: 'second-of-two@example.com', password });

    const done = await visitor.submit(ending, {});

    expect(done.leadsTo?.searchParams.has('code')).toBe(true);
    expect((await visitor.open(`${issuer}/account`)).text).toContain('second-of-two@example.com');
  });

  test('is not made in a sign-in that another browser has begun', async () => {
    await anAccount(cluster, 'victim@example.com');
    const attacker = visit(cluster);
    const { page } = await openSignIn(attacker);

    const victims = await visit(cluster).submit(page, { email: 'victim@example.com', password });

    expect(victims).toMatchObject({ status: 400, leadsTo: undefined });
    expect(victims.text).toContain('This sign-in has expired');
  });

  test('has a cookie that scripts and other sites do not get', async () => {
    const email = 'cookie@example.com';
    await anAccount(cluster, email);
    const visitor = visit(cluster);
    const { page } = await openSignIn(visitor);
    const first = await visitor.submit(page, { email, password });
    const set = first.headers.getSetCookie().filter((line) => line.startsWith('__Secure-gantry-session='));

    expect(set).toHaveLength(1);
    for (const flag of ['path=/sign-in', 'secure', 'httponly', 'samesite=lax']) expect(set[0]).toContain(flag);
  });

  test('is stored under a hash, as codes and tokens are', async () => {
    const email = 'stored@example.com';
    await anAccount(cluster, email);
    const visitor = visit(cluster);
    const { page, flow } = await signIn(visitor, { email });
    const tokens = await programAt(cluster.baseURL).redeem(flow, page.leadsTo as URL);
    const { rows } = await cluster.pool.query('select to_jsonb(sign_in_record) as row from sign_in_record');
    const stored = JSON.stringify(rows);

    const cookie = visitor.cookies.get('/sign-in __Secure-gantry-session');
    for (const secret of [cookie, tokens.refresh_token, page.leadsTo?.searchParams.get('code')]) {
      expect(secret).toMatch(/.{20}/);
      expect(stored).not.toContain(secret);
      // As JSON shows a column of bytes.
      expect(stored).not.toContain(Buffer.from(secret ?? '').toString('hex'));
    }
  });

  test('ends where its owner ends it, with its tokens', async () => {
    const email = 'two@example.com';
    await anAccount(cluster, email);
    const [first, second] = [visit(cluster), visit(cluster)];
    const { page, flow } = await signIn(first, { email });
    const program = programAt(cluster.baseURL);
    const tokens = await program.redeem(flow, page.leadsTo as URL);
    await signIn(second, { email });
    const account = await second.open(`${issuer}/account`);
    const forms = account.text.match(/<form[\s\S]*?<\/form>/g) ?? [];

    await second.submit(account, {}, { form: forms.findIndex((markup) => markup.includes('end-others')) });

    await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await first.open(`${issuer}/account`)).text).not.toContain('Signed in as');
    expect((await second.open(`${issuer}/account`)).text).toContain('Signed in as');
  });

  test('of a disabled account is over, and gives no more tokens', async () => {
    const email = 'blocked@example.com';
    const { accountID } = await anAccount(cluster, email);
    const visitor = visit(cluster);
    const { page, flow } = await signIn(visitor, { email });
    const program = programAt(cluster.baseURL);
    const tokens = await program.redeem(flow, page.leadsTo as URL);

    await setDisabled(cluster.pool, accountID, true);

    await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await visitor.open(`${issuer}/account`)).text).not.toContain('Signed in as');
  });
});

describe('a link', () => {
  test('works once, also for two that use it at once, and opening it uses nothing up', async () => {
    const { accountID } = await anAccount(cluster, 'link@example.com');
    const token = await makeLink(cluster.pool, { accountID, purpose: 'RESET' });
    const pages = await Promise.all([1, 2].map(() => visit(cluster).open(`${issuer}/link/${token}`)));
    const chosen = ['a first password of some words', 'a second password of some words'];

    const used = await Promise.all(pages.map((page, n) => visit(cluster).submit(page, { password: chosen[n] ?? '' })));

    expect(used.map(({ status }) => status).sort()).toEqual([200, 410]);
    expect(await visit(cluster).open(`${issuer}/link/${token}`)).toMatchObject({ status: 410 });
  });

  test('ends with the next one, and by time', async () => {
    const { accountID } = await anAccount(cluster, 'links@example.com');
    const [first, second] = [
      await makeLink(cluster.pool, { accountID, purpose: 'RESET' }),
      await makeLink(cluster.pool, { accountID, purpose: 'RESET' }),
    ];
    expect(await visit(cluster).open(`${issuer}/link/${first}`)).toMatchObject({ status: 410 });

    await cluster.pool.query("update sign_in_link set expires_at = now() - interval '1 s'");

    expect(await visit(cluster).open(`${issuer}/link/${second}`)).toMatchObject({ status: 410 });
  });

  test('for a new password ends every sign-in, and one that is under way', async () => {
    const email = 'reset@example.com';
    const { accountID } = await anAccount(cluster, email);
    const thief = visit(cluster);
    const { page, flow } = await signIn(thief, { email });
    const program = programAt(cluster.baseURL);
    const tokens = await program.redeem(flow, page.leadsTo as URL);
    // The password was right; the answer was not followed yet.
    const { page: form } = await openSignIn(thief, { prompt: 'login' });
    const underWay = await thief.submit(form, { email, password }, { until: `${issuer}/auth/` });
    expect(underWay.leadsTo?.href).toContain(`${issuer}/auth/`);
    const token = await makeLink(cluster.pool, { accountID, purpose: 'RESET' });
    const owner = visit(cluster);

    await owner.submit(await owner.open(`${issuer}/link/${token}`), { password: 'quite another set of words' });

    await expect(program.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    const after = await thief.open(underWay.leadsTo?.href ?? '');
    expect(after.leadsTo?.searchParams.get('code') ?? null).toBeNull();
    expect((await thief.open(`${issuer}/account`)).text).not.toContain('Signed in as');
  });

  test('for the first account ends once there is one', async () => {
    await using empty = await startSignInCluster();
    const url = (await firstInvitation(empty.pool, issuer)) ?? '';
    const visitor = visit(empty);
    const page = await visitor.open(url);
    await anAccount(empty, 'somebody@example.com');

    expect(await visitor.submit(page, { email: 'thief@example.com', password })).toMatchObject({ status: 410 });
    expect(await firstInvitation(empty.pool, issuer)).toBeUndefined();
  });

  test.each([
    ['a short one', 'nine words', 'at least 15 characters'],
    ['a common one', 'password1234567', 'many people use'],
    ['a repeated one', 'qwertyqwertyqwerty', 'many people use'],
    ['a row of keys', '12345678901234567890', 'many people use'],
    ['the address', 'weak@example.com123', 'consists of the e-mail address'],
  ])('takes no weak password: %s', async (_what, chosen, says) => {
    const page = await acceptInvitation(cluster, 'weak@example.com', chosen);

    expect(page).toMatchObject({ status: 400, problem: expect.stringContaining(says) });
  });
});

describe('guessing', () => {
  test('of a password is stopped for its network; the right one does not help then', async () => {
    const email = 'guessed@example.com';
    await anAccount(cluster, email);
    const guesser = '192.0.2.77';
    const statuses = [];
    for (let n = 0; n < 11; n += 1)
      statuses.push(
        (await signIn(visit(cluster, guesser), { email, chosen: `guess number ${n} of many` })).page.status,
      );
    expect(statuses).toEqual([...Array(10).fill(401), 429]);

    expect((await signIn(visit(cluster, guesser), { email })).page).toMatchObject({ status: 429 });
    expect((await signIn(visit(cluster), { email })).page.leadsTo, 'its owner elsewhere').toBeDefined();
  });

  test('of a code is stopped for the account', async () => {
    const email = 'codes@example.com';
    const visitor = await aSignedIn(email);
    await addTOTP(visitor);
    const statuses = [];
    const thief = visit(cluster);
    let { page } = await signIn(thief, { email });
    const form = 0;
    for (let n = 0; n < 11; n += 1) {
      page = await thief.submit({ ...page, url: page.url.replace(/\/code$/, '') }, { code: '000000' }, { form });
      statuses.push(page.status);
    }

    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  test('of a code ends after a hundred, for the right one too, until a new password; a recovery code still works', async () => {
    const email = 'hundred@example.com';
    const owner = await aSignedIn(email);
    const { secret, codes } = await addTOTP(owner);
    const { rows } = await cluster.pool.query(
      'update sign_in_account set wrong_codes = 99 where email = $1 returning id',
      [email],
    );
    const tryCode = async (code: string) => {
      const visitor = visit(cluster);
      return await visitor.submit((await signIn(visitor, { email })).page, { code });
    };

    expect(await tryCode('000000')).toMatchObject({ status: 401, problem: expect.stringContaining('Too many codes') });
    expect(await tryCode(codeOf(secret, 30_000))).toMatchObject({ status: 401 });
    expect((await tryCode(codes[0] ?? '')).leadsTo?.searchParams.has('code')).toBe(true);
    expect(await tryCode(codeOf(secret, 30_000)), 'a recovery code starts no new hundred').toMatchObject({
      status: 401,
    });
    const token = await makeLink(cluster.pool, { accountID: rows[0].id, purpose: 'RESET' });
    await owner.submit(await owner.open(`${issuer}/link/${token}`), { password });
    expect((await tryCode(codeOf(secret, 30_000))).leadsTo?.searchParams.has('code')).toBe(true);
  });
});

describe('a second factor', () => {
  test('accepts each code once, also in two browsers at once', async () => {
    const email = 'totp@example.com';
    const { secret } = await addTOTP(await aSignedIn(email));
    const code = codeOf(secret, 30_000);
    const browsers = [visit(cluster), visit(cluster)];
    const pages = await Promise.all(browsers.map(async (visitor) => (await signIn(visitor, { email })).page));

    const done = await Promise.all(browsers.map((visitor, n) => visitor.submit(pages[n] as Page, { code })));

    expect(done.filter(({ leadsTo }) => leadsTo?.searchParams.has('code'))).toHaveLength(1);
    expect(done.map(({ status }) => status).sort()).toEqual([303, 401]);
  });

  test('accepts no code of its own set-up again, and each recovery code once', async () => {
    const email = 'recover@example.com';
    const { code: used, codes } = await addTOTP(await aSignedIn(email));
    expect(codes).toHaveLength(10);
    const tryCode = async (code: string) => {
      const visitor = visit(cluster);
      return await visitor.submit((await signIn(visitor, { email })).page, { code });
    };

    expect(await tryCode(used)).toMatchObject({ status: 401 });
    expect((await tryCode(codes[0] ?? '')).leadsTo?.searchParams.has('code')).toBe(true);
    expect(await tryCode(codes[0] ?? '')).toMatchObject({ status: 401 });
  });

  test('cannot be left out: neither by going on without it, nor after the password has changed', async () => {
    const email = 'skip@example.com';
    const { accountID } = await anAccount(cluster, email);
    const owner = visit(cluster);
    await signIn(owner, { email });
    const { secret } = await addTOTP(owner);
    const thief = visit(cluster);
    const { page } = await signIn(thief, { email });
    expect(page.text).toContain('One more step');
    const { uid } = /interaction\/(?<uid>[\w-]+)/.exec(page.url)?.groups ?? {};

    const resumed = await thief.open(`${issuer}/auth/${uid}`);
    expect(resumed.leadsTo?.searchParams.get('code') ?? null).toBeNull();

    const again = visit(cluster);
    const { page: second } = await signIn(again, { email });
    const token = await makeLink(cluster.pool, { accountID, purpose: 'RESET' });
    await owner.submit(await owner.open(`${issuer}/link/${token}`), { password: 'quite another set of words' });
    expect(await again.submit(second, { code: codeOf(secret, 30_000) })).toMatchObject({ status: 400 });
  });

  test('is neither added nor removed without the password', async () => {
    const visitor = await aSignedIn('added@example.com');
    const origin = { form: { current: 'not the right one at all', id: 'x' } };
    for (const path of ['totp', 'totp/remove', 'passkeys', 'passkeys/remove', 'recovery-codes', 'password'])
      expect(await visitor.open(`${issuer}/account/${path}`, origin), path).toMatchObject({ status: 401 });
  });
});

describe('other sites', () => {
  test.each([
    ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': '' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour', { 'sec-fetch-site': 'same-site' }],
    ['a page without an origin', { origin: 'null', 'sec-fetch-site': '' }],
  ])('cannot send a form: from %s', async (_what, headers) => {
    const visitor = await aSignedIn(`form-${crypto.randomUUID()}@example.com`);
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
    const paths = [
      'account/password',
      'account/totp',
      'account/sessions/end',
      'account/sessions/end-others',
      'sign-out',
      'forgot',
    ];
    for (const path of paths) {
      const url = `${cluster.baseURL}/sign-in/${path}`;
      const cookie = [...visitor.cookies].map(([key, value]) => `${key.split(' ')[1]}=${value}`).join('; ');
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...sent, cookie },
        body: new URLSearchParams({ a: '1' }),
      });
      expect(answer.status, path).toBe(403);
    }
    expect((await visitor.open(`${issuer}/account`)).text).toContain('Signed in as');
  });

  test('cannot show a page in a frame, nor bring scripts into one', async () => {
    const visitor = await aSignedIn('frame@example.com');
    const pages = [
      (await openSignIn(visit(cluster), { login_hint: '"><script>alert(1)</script>' })).page,
      await visitor.open(`${issuer}/account`),
      await visitor.open(`${issuer}/forgot`),
      await visitor.open(`${issuer}/link/unknown`),
      await visitor.open(`${issuer}/session/end`),
      (await openSignIn(visit(cluster), { client_id: '<script>alert(1)</script>' })).page,
    ];
    for (const { url, headers, text } of pages) {
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy, url).toContain("frame-ancestors 'none'");
      expect(policy, url).toContain("default-src 'none'");
      expect(policy, url).not.toContain('unsafe');
      expect(headers.get('x-frame-options'), url).toBe('DENY');
      expect(headers.get('cache-control'), url).toContain('no-store');
      expect(text, url).not.toContain('<script>alert');
    }
  });

  test('are never where the browser ends: neither after a sign-in nor after signing out', async () => {
    const visitor = await aSignedIn('redirect@example.com');

    for (const uri of ['https://evil.example/', '//evil.example/', `${site}.evil.example/`, `${site}@evil.example/`]) {
      const url = new URL(`${issuer}/session/end`);
      url.search = new URLSearchParams({ client_id: 'gantry', post_logout_redirect_uri: uri }).toString();
      expect(await visitor.open(url.href), uri).toMatchObject({ status: 400, leadsTo: undefined });
      expect((await openSignIn(visit(cluster), { redirect_uri: uri })).page, uri).toMatchObject({ status: 400 });
    }
  });
});

test('fields that no form sends are answered without a fault of the server', async () => {
  const { page } = await openSignIn(visit(cluster), { state: 'with\0 nul', nonce: '\0' });
  expect(page.status).toBeLessThan(500);
  const visitor = visit(cluster);
  const { page: form } = await openSignIn(visitor);
  const sent: Record<string, string>[] = [
    { email: 'a\0@example.com', password: '\0' },
    { email: 'x'.repeat(40_000), password: 'y'.repeat(20_000) },
    { __proto__: 'x', 'email[]': 'x', constructor: 'y' } as never,
  ];
  for (const fields of sent) expect((await visitor.submit(form, fields)).status).toBe(401);
  expect((await visitor.open(`${issuer}/interaction/..%2f..%2fx`)).status).toBe(400);
});
