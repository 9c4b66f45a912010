import { figuresOf } from './on-test-servers.ts';
import type { Row } from './row.ts';

/**
 * Processor time of the console: the main thread of a page with runs, answers and code as large as they may be, and the build. The
 * floor is what is allowed. The backplane makes no difference. It needs the development packages and a Chromium.
 */
export const consolePages: Row = async (environment) =>
  environment.kind === 'redis' ? [] : figuresOf('console-pages.ts', [], environment);
