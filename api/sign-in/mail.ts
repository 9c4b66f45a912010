import { createTransport } from 'nodemailer';
import type { Config } from '#shared/process/config.ts';

/** Sends the mails of the sign-in; rejects if the server does not take one. */
export interface Mailer extends Disposable {
  send(mail: { to: string; subject: string; text: string }): Promise<void>;
}

const TIMEOUT_MS = 20_000;

/** The server of SMTP_URL. The operator has chosen it, so it is reached directly and not through the gate for tenants. */
export function createMailer({ url, from }: NonNullable<Config['mail']>): Mailer {
  const { username, hostname } = new URL(url);
  const transport = createTransport({
    url,
    // A password must not cross a network in clear, also where an attacker on the way hides that the server can encrypt.
    requireTLS: username !== '' && !/^(localhost|127\.|\[::1\])/.test(hostname),
    pool: true,
    maxConnections: 2,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  });
  return {
    async send(mail) {
      await transport.sendMail({ ...mail, from });
    },
    [Symbol.dispose]: () => transport.close(),
  };
}

export function invitationMail(url: string, hours: number) {
  return {
    subject: 'Your invitation to Gantry',
    text: `You are invited to Gantry.

Choose your password here, within ${hours} hours:

${url}

If you did not expect this mail, you need not do anything.
`,
  };
}

export function resetMail(url: string) {
  return {
    subject: 'Your new password for Gantry',
    text: `A new password was asked for, for your account at Gantry.

Choose it here, within an hour:

${url}

If this was not you, you need not do anything: your password stays as it is.
`,
  };
}

export function changedMail() {
  return {
    subject: 'Your password for Gantry was changed',
    text: `The password of your account at Gantry was changed, and every sign-in has ended.

If this was not you, tell your administrator at once.
`,
  };
}

export function guessedMail() {
  return {
    subject: '100 wrong codes were given for your account at Gantry',
    text: `After your right password, 100 wrong codes were given in a row: another person may know the password. Your app's codes are not accepted from now on.

Sign in with a recovery code or a passkey and change your password, or ask for a new one: codes work again then.
`,
  };
}
