import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** A mail server that keeps what it receives. */
export interface MailServer extends AsyncDisposable {
  readonly url: string;
  readonly mails: { to: string; subject: string; text: string }[];
  /** Resolves with the next mail that no other call has taken. */
  next(): Promise<{ to: string; subject: string; text: string }>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: MailServer['mails'] = [];
  const waiting: ((mail: MailServer['mails'][number]) => void)[] = [];
  let taken = 0;
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    onData(stream, { envelope }, done) {
      stream.toArray().then(async (parts) => {
        const { subject = '', text = '' } = await PostalMime.parse(Buffer.concat(parts));
        const mail = { to: envelope.rcptTo.map(({ address }) => address).join(), subject, text };
        mails.push(mail);
        const next = waiting.shift();
        if (next) taken += 1;
        next?.(mail);
        done();
      }, done);
    },
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    mails,
    next() {
      const mail = mails[taken];
      if (!mail) return new Promise((resolve) => waiting.push(resolve));
      taken += 1;
      return Promise.resolve(mail);
    },
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
