import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../../servers/chromium.ts';
import { builtConsole } from '../built-console.ts';
import { type File, lookedAt, neverSeen } from './looked-at.ts';
import { openStage, routes, type Stage } from './stage.ts';

/** Runs groups of tests on one stage, in their order. */
export async function onStage(file: File, groups: Record<string, (stage: () => Stage) => void>): Promise<void> {
  const found = await findChromium();
  if (found.path === null) process.stderr.write(`The tests of the console in a browser are skipped: ${found.reason}\n`);

  describe.skipIf(found.path === null)('the console', () => {
    let stage: Stage;
    // Apart, so that a time that runs out tells which of both took it.
    beforeAll(() => builtConsole(), 600_000);
    beforeAll(async () => {
      stage = await openStage(found.path ?? '');
    }, 240_000);
    afterAll(() => stage?.[Symbol.asyncDispose]());
    afterEach(async ({ task }) => {
      const faults = stage.faults.splice(0);
      // A page that a failed try has left open would go on, also when its server is away.
      for (const page of stage.context.pages()) if (page !== stage.page) await page.close();
      // A second try must not go on in a dialog that the first has left open, nor in a look at the page.
      if (task.result?.state === 'fail' || faults.length > 0) {
        await stage.page.goto('about:blank');
        await stage.page.setViewportSize({ width: 1280, height: 800 });
        await stage.page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      }
      expect(faults).toEqual([]);
    });

    for (const [name, tests] of Object.entries(groups)) describe(name, () => tests(() => stage));

    test('every page of the console has been looked at, here or in the other file', () => {
      const own = lookedAt[file];
      expect(own.filter((path) => !routes.seen.has(path))).toEqual([]);
      const listed = new Set([...Object.values(lookedAt).flat(), ...neverSeen]);
      expect([...routes.all].filter((path) => !listed.has(path))).toEqual([]);
      expect(routes.all.size).toBeGreaterThan(30);
    });
  });
}
