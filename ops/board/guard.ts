import { randomBytes, timingSafeEqual } from 'node:crypto';
import express, { type NextFunction, type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { type OperatorSession, type Operators, originOf, sessionHours } from '#api/auth/operator-session.ts';
import { readClientError } from '#api/http/request/client-error.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { loginPage, logoutPage, pagePolicy, problemPage } from './pages.ts';

/**
 * Lets operators in only, by a session that the browser keeps in a cookie. A request that may change something must come from a
 * page of the board itself, and is recorded before it is done.
 */
export function operatorsOnly(operators: Operators): Router {
  const router = Router();
  router.use(fromOurOwnPages);
  router.get('/login', (request, response) => showLogin(request, response, 200));
  router.post('/login', express.urlencoded({ extended: false, limit: '16kb' }), (request, response) =>
    login(operators, request, response),
  );
  router.use(async (request, response, next) => {
    const session = await findSession(operators, request);
    if (session) response.locals.operator = session;
    else if (request.method === 'GET' && !request.path.startsWith('/api/')) return response.redirect(303, '/login');
    else throw new AppError('USER_AUTH_TOKEN_NOT_FOUND', 'Sign in to the board first');
    next();
  });
  router.get('/logout', (_request, response) => send(response, 200, logoutPage(operatorOf(response))));
  router.post('/logout', async (request, response) => {
    await operators.logout(operatorOf(response), originOf(request));
    response.clearCookie(cookieName(request, 'session'), cookieOptions(request));
    response.redirect(303, '/login');
  });
  router.use(async (request, response, next) => {
    response.setHeader('cache-control', 'private, no-cache');
    if (!isReading(request)) {
      const noteOutcome = await operators.record(operatorOf(response), 'BOARD', originOf(request));
      response.once('finish', () => noteOutcome(response.statusCode));
    }
    next();
  });
  return router;
}

/** Answers an error: JSON for scripts, a page for people. */
export function answerBoardErrors(logger: Logger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const known = readClientError(error, request) ?? toAppError(error);
    const { code, message, status, retryAfter } = known;
    if (status >= 500) logger.error({ err: error, path: request.path }, 'board request failed');
    if (response.headersSent) return void response.destroy();
    if (retryAfter !== undefined) response.setHeader('retry-after', Math.ceil(retryAfter));
    if (request.method === 'GET' && !request.path.startsWith('/api/'))
      return send(response, status, problemPage(message));
    response.status(status).json({ success: false, error: { code, message } });
  };
}

/** Refuses changing requests that come from another site, or that do not say where they come from. */
function fromOurOwnPages(request: Request, _response: Response, next: NextFunction): void {
  if (isReading(request) || isSameOrigin(request)) return next();
  throw new AppError('PERMISSION_DENIED', 'This may be asked by the pages of the board only');
}

function isSameOrigin(request: Request): boolean {
  const site = request.get('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  // Over plain http browsers send only the Origin.
  const origin = request.get('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === request.host;
}

function isReading({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

const LoginForm = z.object({
  formToken: z.string(),
  email: z.string().min(1).max(255),
  password: z.string().min(1).max(1024),
});

async function login(operators: Operators, request: Request, response: Response): Promise<void> {
  const form = LoginForm.safeParse(request.body);
  if (!form.success || !isFormToken(readCookie(request, 'form'), form.data.formToken))
    return showLogin(request, response, 400, 'The form has expired. Please try again.');
  try {
    const { token } = await operators.login(form.data, originOf(request));
    response.cookie(cookieName(request, 'session'), token, {
      ...cookieOptions(request),
      maxAge: sessionHours * 3_600_000,
    });
    response.clearCookie(cookieName(request, 'form'), cookieOptions(request));
    response.redirect(303, '/');
  } catch (error) {
    const { status, message, retryAfter } = toAppError(error);
    if (retryAfter !== undefined) response.setHeader('retry-after', Math.ceil(retryAfter));
    if (status >= 500) throw error;
    showLogin(request, response, status, message);
  }
}

/** The form's token is also in a cookie, which a page of another site can neither read nor set. */
function showLogin(request: Request, response: Response, status: number, problem?: string): void {
  const known = readCookie(request, 'form');
  const formToken = known && tokenFormat.test(known) ? known : randomBytes(32).toString('hex');
  response.cookie(cookieName(request, 'form'), formToken, cookieOptions(request));
  send(response, status, loginPage({ formToken, ...(problem && { problem }) }));
}

const tokenFormat = /^[0-9a-f]{64}$/;

function isFormToken(expected: string | undefined, given: string): boolean {
  if (!expected || !tokenFormat.test(expected) || !tokenFormat.test(given)) return false;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}

/** The part of a request by which an operator is known: a socket's has no more. */
export type CookieRequest = Pick<Request, 'headers' | 'secure'>;

/** Rejects unless the cookie is that of a session. */
export async function identifyByCookie(operators: Operators, request: CookieRequest): Promise<OperatorSession> {
  const session = await findSession(operators, request);
  if (!session) throw new AppError('USER_AUTH_TOKEN_NOT_FOUND', 'Sign in to the board first');
  return session;
}

async function findSession(operators: Operators, request: CookieRequest): Promise<OperatorSession | undefined> {
  const token = readCookie(request, 'session');
  if (token === undefined) return undefined;
  try {
    return await operators.identifyToken(token);
  } catch (error) {
    if (toAppError(error).status === 401) return undefined;
    throw error;
  }
}

/** Set by the middleware, which lets only operators in. */
function operatorOf(response: Response): OperatorSession {
  return response.locals.operator as OperatorSession;
}

/** With the prefix `__Host-` a browser accepts the cookie over https from this very host only. */
function cookieName(request: CookieRequest, name: 'session' | 'form'): string {
  return `${request.secure ? '__Host-' : ''}gantry-board-${name}`;
}

function cookieOptions({ secure }: Request) {
  return { httpOnly: true, sameSite: 'strict', secure, path: '/' } as const;
}

function readCookie(request: CookieRequest, name: 'session' | 'form'): string | undefined {
  const wanted = `${cookieName(request, name)}=`;
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(wanted))?.slice(wanted.length);
}

function send(response: Response, status: number, html: string): void {
  response
    .status(status)
    .set({ 'content-security-policy': pagePolicy, 'cache-control': 'no-store' })
    .type('html')
    .send(html);
}
