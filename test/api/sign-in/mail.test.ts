import { afterAll, beforeAll, expect, test } from 'vitest';
import { setDisabled } from '#api/sign-in/accounts.ts';
import { createClient } from '#test/support/client.ts';
import type { Cluster } from '#test/support/cluster.ts';
import { type MailServer, startMailServer } from '#test/support/mail-server.ts';
import { anAccount, issuer, programAt, signIn, startSignInCluster, visit } from '#test/support/sign-in.ts';

let cluster: Cluster;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer();
  cluster = await startSignInCluster({ settings: { SMTP_URL: mail.url, MAIL_FROM: 'Gantry <gantry@example.com>' } });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

async function forgot(email: string, ip?: string) {
  const visitor = visit(cluster, ip);
  return await visitor.submit(await visitor.open(`${issuer}/forgot`), { email });
}

const linkIn = (text: string) => /https:\S+\/sign-in\/link\/\S+/.exec(text)?.[0] ?? '';

test('a forgotten password is replaced by a link in a mail, and its owner is told', async () => {
  const email = 'forgetful@example.com';
  await anAccount(cluster, email);
  await forgot(email.toUpperCase());
  const { to, subject, text } = await mail.next();
  expect({ to, subject }).toEqual({ to: email, subject: 'Your new password for Gantry' });
  const visitor = visit(cluster);
  const chosen = 'quite another set of words';

  await visitor.submit(await visitor.open(linkIn(text)), { password: chosen });

  expect((await mail.next()).subject).toBe('Your password for Gantry was changed');
  expect((await signIn(visit(cluster), { email, chosen })).page.leadsTo?.searchParams.has('code')).toBe(true);
  expect((await signIn(visit(cluster), { email })).page.status, 'with the password before').toBe(401);
});

test('who asks learns nothing: the answer is the same, and only accounts get a mail, three an hour', async () => {
  const email = 'flooded@example.com';
  await anAccount(cluster, email);
  const disabled = await anAccount(cluster, 'off@example.com');
  await setDisabled(cluster.pool, disabled.accountID, true);
  const before = mail.mails.length;

  const answers = [await forgot('nobody@example.com'), await forgot('off@example.com'), await forgot(email)];
  for (let n = 0; n < 4; n += 1) answers.push(await forgot(email));

  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect([await mail.next(), await mail.next(), await mail.next()].map(({ to }) => to)).toEqual([email, email, email]);
  // One more that may get a mail shows that those before have been looked at.
  await anAccount(cluster, 'last@example.com');
  await forgot('last@example.com');
  expect((await mail.next()).to).toBe('last@example.com');
  expect(mail.mails.length - before).toBe(4);
});

test('who is invited to a tenant gets an invitation by mail, and is a member once the password is set', async () => {
  const [admin, guest] = ['admin@example.com', 'guest@example.com'];
  const clientOf = async (email: string) => {
    const { page, flow } = await signIn(visit(cluster), { email });
    const { id_token } = await programAt(cluster.baseURL).redeem(flow, page.leadsTo as URL);
    return createClient(cluster.baseURL, async () => ({ authorization: `Bearer ${id_token}` }));
  };
  await anAccount(cluster, admin);
  const asAdmin = await clientOf(admin);
  const { body } = await asAdmin.post('/api/v1/tenants', { tenantTitle: 'Guests' });
  const { tenantID } = body.tenant;
  const added = await asAdmin.post(`/api/v1/tenants/${tenantID}/users`, { userEmail: guest, roleIDs: [] });
  expect(added).toMatchObject({ status: 201, body: { message: 'User invited' } });
  expect(JSON.stringify(added.body), 'the inviter does not get the link').not.toContain('/link/');
  const { to, subject, text } = await mail.next();
  expect({ to, subject }).toEqual({ to: guest, subject: 'Your invitation to Gantry' });
  const visitor = visit(cluster);

  await visitor.submit(await visitor.open(linkIn(text)), { password: 'seven brown foxes under a bridge' });

  const { body: own } = await (await clientOf(guest)).get('/api/v1/tenants');
  expect(own.tenants).toMatchObject([{ tenantID }]);
});
