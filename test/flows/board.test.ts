import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { readConfig } from '#shared/config.ts';
import { queues } from '#shared/queues/index.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';

let deployment: Deployment;
let board: Board;
let baseURL: string;
beforeAll(async () => {
  deployment = await startDeployment();
  board = await startBoard({ config: readConfig({ ...deployment.env, BOARD_PORT: '0' }), logger: testLogger });
  baseURL = `http://127.0.0.1:${board.port}`;
});
afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

test('the board shows every queue, on whichever backplane', async () => {
  const answer = await fetch(`${baseURL}/api/queues`);
  const body = (await answer.json()) as { queues: { name: string }[] };

  expect(answer.status).toBe(200);
  expect(body.queues.map(({ name }) => name)).toEqual(queues.map(({ name }) => name));
  expect(await (await fetch(baseURL)).text()).toContain('Gantry');
});

test('a page elsewhere can neither read it nor press its buttons', async () => {
  const { status } = await fetch(`${baseURL}/api/queues`, { headers: { origin: 'https://evil.example' } });

  expect(status).toBe(403);
});

test('it says that it is ready', async () => {
  const answer = await fetch(`${baseURL}/ready`);

  expect(await answer.json()).toMatchObject({ success: true });
});
