/** The console in a real browser, on the real API and a worker: its flows, and every page at two widths in both colour schemes. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../servers/chromium.ts';
import { assetTests } from './browser/assets.ts';
import { assistantTests } from './browser/assistant.ts';
import { batchTests } from './browser/batches.ts';
import { buildingTests } from './browser/building.ts';
import { chatTests } from './browser/chat.ts';
import { databaseTests } from './browser/database.ts';
import { fleetTests } from './browser/fleet.ts';
import { hostileTests } from './browser/hostile.ts';
import { inputTests } from './browser/inputs.ts';
import { largeTests } from './browser/large.ts';
import { listenerTests } from './browser/listeners.ts';
import { peopleTests } from './browser/people.ts';
import { pickerTests } from './browser/pickers.ts';
import { questionTests } from './browser/questions.ts';
import { runPageTests } from './browser/run-page.ts';
import { runTests } from './browser/runs.ts';
import { settingsTests } from './browser/settings.ts';
import { signInTests } from './browser/sign-in.ts';
import { openStage, routes, type Stage } from './browser/stage.ts';
import { templateTests } from './browser/templates.ts';
import { testingTests } from './browser/testing.ts';
import { troubleTests } from './browser/trouble.ts';
import { valueTests } from './browser/values.ts';
import { workflowTests } from './browser/workflows.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The tests of the console in a browser are skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('the console', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(found.path ?? '');
  }, 240_000);
  afterAll(() => stage?.[Symbol.asyncDispose]());
  afterEach(async ({ task }) => {
    const faults = stage.faults.splice(0);
    // A page that a failed try has left open would go on, also when its server is away.
    for (const page of stage.context.pages()) if (page !== stage.page) await page.close();
    // A second try must not go on in a dialog that the first has left open.
    if (task.result?.state === 'fail' || faults.length > 0) await stage.page.goto('about:blank');
    expect(faults).toEqual([]);
  });

  describe('runs', () => runTests(() => stage));
  describe('the page of a run', () => runPageTests(() => stage));
  describe('batches', () => batchTests(() => stage));
  describe('questions', () => questionTests(() => stage));
  describe('workflows', () => workflowTests(() => stage));
  describe('templates', () => templateTests(() => stage));
  describe('building', () => buildingTests(() => stage));
  describe('testing', () => testingTests(() => stage));
  describe('pickers', () => pickerTests(() => stage));
  describe('inputs', () => inputTests(() => stage));
  describe('values', () => valueTests(() => stage));
  describe('queries and cron jobs', () => assetTests(() => stage));
  describe('listeners', () => listenerTests(() => stage));
  describe('the fleet', () => fleetTests(() => stage));
  describe('the database', () => databaseTests(() => stage));
  describe('large ones', () => largeTests(() => stage));
  describe('people', () => peopleTests(() => stage));
  describe('settings', () => settingsTests(() => stage));
  describe('in trouble', () => troubleTests(() => stage));
  describe('hostile data', () => hostileTests(() => stage));
  describe('the assistant', () => assistantTests(() => stage));
  describe('useChat', () => chatTests(() => stage));
  // The last, because the database then belongs to an identity provider, and no API starts on it without that.
  describe('signing in', () => signInTests(() => stage));

  test('every page of the console has been looked at in the tests above', () => {
    // That to which a provider leads back is left before it shows what could be looked at.
    expect([...routes.all].filter((path) => !routes.seen.has(path))).toEqual(['/console/signed-in']);
    expect(routes.all.size).toBeGreaterThan(30);
  });
});
