import { expect, test } from 'vitest';
import { sampleCommand } from '#ops/console/pages/sample-command.ts';

test.each([
  ['http://127.0.0.1:8080/console/', 'npm run sample -- nightly-import --tenant T'],
  ['http://127.0.0.1:9090/console/', 'PORT=9090 npm run sample -- nightly-import --tenant T'],
  ['http://localhost:9090/console/', 'PORT=9090 npm run sample -- nightly-import --tenant T'],
  ['https://gantry.example:9090/console/', 'npm run sample -- nightly-import --tenant T'],
])('the command that a page at %s shows for a sample', (address, command) => {
  expect(sampleCommand('nightly-import', 'T', new URL(address))).toBe(command);
});
