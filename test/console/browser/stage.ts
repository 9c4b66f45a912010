/** One browser, one API and one worker for all tests of the console's pages. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { createCall } from '#ops/samples/call.ts';
import { installSample } from '#ops/samples/install.ts';
import { readSample } from '#ops/samples/read.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { takesAll } from '#test/support/sample.ts';
import { builtConsole } from '../built-console.ts';

export interface Stage extends AsyncDisposable {
  cluster: Cluster;
  /** With the sample of an order's approval. */
  tenant: TestTenant;
  context: BrowserContext;
  /** The page of the tenant's creator, who is signed in. */
  page: Page;
  /** Errors that a page has written to its console, violations of its policy among them. */
  faults: string[];
  /** The console's path of the tenant with this behind it. */
  path(rest?: string): string;
  /** Leads the page, or another one of the console, to this path. */
  go(path: string, page?: Page): Promise<void>;
  /** A page of another user, or of another server, which the test closes. */
  open(user: { email: string }, more?: OpenOptions): Promise<Page>;
  /** A page without a session, which the test closes. */
  visit(url: string): Promise<Page>;
}

interface OpenOptions {
  baseURL?: string;
  /** The path below that of the tenant; without it that of the inbox. */
  at?: string;
  /** Called before the page is loaded. */
  prepare?: (page: Page) => Promise<unknown>;
}

/** Markup, a text that turns the direction of what follows, and a word without an end. */
export const HOSTILE = `<img src=x onerror="throw 1"> \u202egnp.exe \u05e9\u05dc\u05d5\u05dd ${'long'.repeat(30)}`;

/** With the minified axe: pages parse it in half the time. */
const EXAMINER = [import.meta.resolve('axe-core/axe.min.js'), import.meta.resolve('./examine.mjs')]
  .map((url) => readFileSync(fileURLToPath(url), 'utf8'))
  .join(';\n');

export async function openStage(executablePath: string): Promise<Stage> {
  await using resources = new AsyncDisposableStack();
  const folder = await builtConsole();
  const cluster = resources.use(
    await startCluster({ settings: { CONSOLE_DIR: folder, AUDIT_BUFFER_SECONDS: '0.05' } }),
  );
  const tenant = await aTenant(cluster);
  const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
  await installSample(call, await readSample('order-approval'), { tenantID: tenant.id });
  const browser: Browser = await chromium.launch({
    executablePath,
    // Pages live for seconds: to optimise their code costs more than it gives (237 s of processor time, 215 s without).
    // To imitate a GPU, which no machine of tests has, takes another 4 s of it.
    args: ['--no-sandbox', '--js-flags=--no-opt', '--disable-gpu'],
  });
  resources.defer(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  await context.addInitScript(
    "document.addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))",
  );
  const faults: string[] = [];
  const newPage = async () => {
    const page = await context.newPage();
    // A busy machine may take long for anything.
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(`${message.text()} (on ${page.url()})`);
    });
    return page;
  };
  const open = async (
    { email }: { email: string },
    { baseURL = cluster.baseURL, at = '/inbox', prepare }: OpenOptions = {},
  ) => {
    const opened = await newPage();
    await prepare?.(opened);
    const session = { token: await cluster.tokenFor({ email }), email, renewal: { kind: 'development' } };
    const stored = JSON.stringify({ ...session, expiresAt: Date.now() + 3_000_000 });
    // An empty document, or one that says that no server answered, has no storage.
    await opened.addInitScript(
      `if (origin !== 'null') sessionStorage.setItem('gantry.session', ${JSON.stringify(stored)})`,
    );
    await opened.goto(`${baseURL}/console/t/${tenant.id}${at}`);
    return opened;
  };
  const page = await open(tenant.creator);
  pollOften(page);
  const owned = resources.move();
  return {
    cluster,
    tenant,
    context,
    page,
    faults,
    path: (rest = '') => `/console/t/${tenant.id}${rest}`,
    go: (path, led = page) => go(led, cluster.baseURL + path),
    open,
    async visit(url) {
      const visited = await newPage();
      await visited.goto(url);
      return visited;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A part of Playwright that repeats what does not succeed yet. */
interface Repeating {
  retryWithProgressAndBackoff(progress: unknown, act: unknown): unknown;
  retryWithProgressAndTimeouts(progress: unknown, timeouts: number[], act: unknown): unknown;
}

/**
 * After a quarter of a second Playwright looks twice a second for what a test waits for, and has no setting for it. Of 1,037 waits in
 * console.test.ts 80 took longer, each up to half a second more than what was waited for.
 */
function pollOften(page: Page): void {
  const inside = page as unknown as { _connection: { toImpl(of: unknown): Repeating } };
  const repeating: Repeating = Object.getPrototypeOf(inside._connection.toImpl(page.mainFrame()));
  repeating.retryWithProgressAndBackoff = function (progress, act) {
    return this.retryWithProgressAndTimeouts(progress, [20, 50, 100], act);
  };
}

/**
 * Within the console as by a link: to load a page anew takes five times the processor time, and axe with it. The page that
 * is open is loaded anew all the same, since a link to itself would leave its dialogs open.
 */
async function go(page: Page, url: string): Promise<void> {
  const inConsole = new URL('/console/t/', url).href;
  const isOther = new URL(page.url()).pathname !== new URL(url).pathname;
  if (page.url().startsWith(inConsole) && isOther)
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(url)})`);
  else await page.goto(url);
}

/** The browser writes an error for each answer that refuses something; other faults stay. */
export function forgetRefusals({ faults }: Stage, status: number): void {
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes(`status of ${status}`)));
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

const COLOURS = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

const ALL = { runOnly: WCAG };

const WITHOUT_COLOURS = {
  runOnly: WCAG,
  rules: Object.fromEntries(COLOURS.runOnly.values.map((rule) => [rule, { enabled: false }])),
};

/** Rules that another width can break in elements that it shows too: of their sizes, and of names whose texts it hides. */
const OF_WIDTH = {
  runOnly: {
    type: 'rule',
    values: [
      ...['target-size', 'scrollable-region-focusable', 'aria-hidden-focus', 'label', 'select-name', 'summary-name'],
      ...['button-name', 'link-name', 'input-button-name', 'aria-command-name', 'aria-input-field-name'],
      ...[
        'aria-toggle-field-name',
        'aria-tooltip-name',
        'aria-progressbar-name',
        'image-alt',
        'svg-img-alt',
        'role-img-alt',
      ],
    ],
  },
};

/**
 * The looks at a page: at the width of a desk and of the narrowest telephone (no break of the styles lies between 320 and 576), and
 * in both colour schemes. A width changes the layout, a scheme the colours. A `whole` look takes almost twice the time of a `part`, which
 * leaves out colours of texts that look like some before, and at the second width most rules for elements that the first has shown.
 */
const LOOKS = [
  { colorScheme: 'light', width: 1280, whole: ALL, part: { rules: WITHOUT_COLOURS, colours: COLOURS } },
  { colorScheme: 'dark', width: 1280, whole: COLOURS, part: { colours: COLOURS } },
  { colorScheme: 'light', width: 320, whole: WITHOUT_COLOURS, part: { rules: OF_WIDTH, ofNew: WITHOUT_COLOURS } },
] as const;

/** Numbers of texts whose colours were looked at. */
const seenColours = new Set<number>();

/**
 * Findings of axe, and sideways scroll, in these colour schemes. `npm run test:all` takes whole looks, and so does a run with
 * `SCREENSHOTS`, which names a folder for pictures.
 */
export async function expectAccessible(
  page: Page,
  { name, shows, schemes = ['light', 'dark'] }: { name: string; shows: string; schemes?: ('light' | 'dark')[] },
): Promise<void> {
  const { SCREENSHOTS: folder } = process.env;
  for (const { colorScheme, width, whole, part } of LOOKS) {
    if (!schemes.includes(colorScheme)) continue;
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 800 });
    await page.getByText(shows).first().waitFor();
    const given = takesAll || folder ? { rules: whole } : { ...part, seen: [...seenColours] };
    const { violations, wider, looked } = await examine(page, given);
    expect({ colorScheme, width, violations, wider }).toEqual({ colorScheme, width, violations: [], wider: [] });
    for (const key of looked) seenColours.add(key);
    if (folder) await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await noteRoute(page);
}

/** Sideways scroll alone, at both widths, for a page at which another test has looked. */
export async function expectNoSidewaysScroll(page: Page, shows: string): Promise<void> {
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.getByText(shows).first().waitFor();
    expect({ width, wider: (await examine(page, {})).wider }).toEqual({ width, wider: [] });
  }
}

/** The routes of both entries of the console, and those on which `expectAccessible` has looked at a page. */
export const routes = { all: new Set<string>(), seen: new Set<string>() };

async function noteRoute(page: Page): Promise<void> {
  // The pages of the built-in sign-in are none of the console's.
  if (!(await page.evaluate("'__TSR_ROUTER__' in globalThis"))) return;
  const [entry, all, seen] = await page.evaluate<[string, string[], string | undefined]>(`(() => {
    const { basepath, routesByPath, state } = globalThis.__TSR_ROUTER__;
    return [basepath, Object.keys(routesByPath), state.matches.at(-1)?.fullPath];
  })()`);
  const withoutEnd = (path: string | undefined) => `${entry}${path}`.replace(/\/$/, '');
  for (const path of all) routes.all.add(withoutEnd(path));
  routes.seen.add(withoutEnd(seen));
}

interface Findings {
  violations: string[];
  /** Elements wider than the window, if the page scrolls sideways. */
  wider: string[];
  /** Numbers of texts whose colours were looked at. */
  looked: number[];
}

interface Examination {
  /** Options of axe for the whole page. */
  rules?: object;
  /** For what the look before has not shown. */
  ofNew?: object;
  /** For texts whose colours are not among the seen ones. */
  colours?: object;
  seen?: number[];
}

/** A page keeps the code for this until the next one is loaded. */
async function examine(page: Page, options: Examination): Promise<Findings> {
  if (!(await page.evaluate("'examine' in globalThis"))) await page.evaluate(EXAMINER);
  return page.evaluate(`examine(${JSON.stringify(options)})`);
}
