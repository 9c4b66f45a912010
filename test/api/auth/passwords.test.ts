import { argon2Sync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPasswords } from '#api/auth/passwords.ts';

test('a hash names its parameters and has a new salt each time', async () => {
  const passwords = createPasswords();

  const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')];

  expect(one).toMatch(/^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$/);
  expect(one).not.toBe(other);
  expect(await passwords.verify('correct horse', one)).toEqual({ isRight: true, isOutdated: false });
  expect((await passwords.verify('correct hors', one)).isRight).toBe(false);
});

test('composed and decomposed forms of a password are equal', async () => {
  const passwords = createPasswords();

  expect((await passwords.verify('cafe\u0301 au lait', await passwords.hash('caf\u00e9 au lait'))).isRight).toBe(true);
});

test('a hash with weaker parameters is accepted and due for replacement', async () => {
  const salt = Buffer.alloc(16, 1);
  const cost = { memory: 1024, passes: 1, parallelism: 1 };
  const made = argon2Sync('argon2id', { message: Buffer.from('secret'), nonce: salt, tagLength: 32, ...cost });
  const [saltText, hashText] = [salt, made].map((bytes) => bytes.toString('base64').replaceAll('=', ''));

  const verdict = await createPasswords().verify('secret', `$argon2id$v=19$m=1024,t=1,p=1$${saltText}$${hashText}`);

  expect(verdict).toEqual({ isRight: true, isOutdated: true });
});

test('without a hash every password is wrong, after the same amount of work', async () => {
  const passwords = createPasswords();
  const stored = await passwords.hash('correct horse');
  const time = async (work: () => Promise<unknown>) => {
    const began = process.cpuUsage();
    await work();
    return process.cpuUsage(began).user;
  };

  const [known, unknown] = [
    await time(() => passwords.verify('wrong', stored)),
    await time(() => passwords.verify('wrong', undefined)),
  ];

  expect((await passwords.verify('wrong', undefined)).isRight).toBe(false);
  expect(unknown).toBeGreaterThan(known / 4);
  expect(unknown).toBeLessThan(known * 4);
});

test('rejects attempts beyond the queue limit and serves those admitted', async () => {
  const passwords = createPasswords();
  // The hash uses 64 KiB, so that it is checked at once.
  const stored = '$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

  const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.verify('x', stored)));

  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused).toHaveLength(14);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'UNAVAILABLE' });
  expect(await passwords.verify('x', stored)).toEqual({ isRight: false, isOutdated: true });
});
