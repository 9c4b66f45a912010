import { expect, test } from 'vitest';
import { createEndpoints, EndpointPath, shapeOf } from '#shared/triggers/listeners/endpoint-path.ts';

test('a path is stored without slashes around it, and of parts that need no encoding', () => {
  expect(EndpointPath.parse('/orders/:orderID/')).toBe('orders/:orderID');
  expect(EndpointPath.parse('a.b_c~d-e')).toBe('a.b_c~d-e');
  const refused = ['', '/', 'a//b', 'a b', 'a/%2f', '..', 'a/./b', ':', ':1', 'a:b', ':__proto__', ':a/:a', 'ä', '*'];
  for (const path of [...refused, Array.from({ length: 11 }, () => 'a').join('/')])
    expect(EndpointPath.safeParse(path).success, path).toBe(false);
});

test('two paths have one shape exactly if they match the same URLs', () => {
  expect(shapeOf('orders/:a/paid')).toBe(shapeOf('orders/:other/paid'));
  expect(new Set(['orders/:a', 'orders/a', ':a/orders', ':a/:b', 'orders'].map(shapeOf)).size).toBe(5);
});

test('of several paths that match, the one with a literal where the others first have a parameter is found', () => {
  const paths = ['orders/:id', 'orders/new', ':kind/new', ':kind/:id', 'orders/:id/items', ':kind/:id/:part', 'orders'];
  const endpoints = createEndpoints(paths.map((path) => ({ path, method: 'POST', value: path })));
  const find = (text: string) => endpoints.find(text.split('/'), 'POST');

  expect(find('orders/new')).toEqual({ value: 'orders/new', params: {} });
  expect(find('orders/7')).toEqual({ value: 'orders/:id', params: { id: '7' } });
  expect(find('users/new')).toEqual({ value: ':kind/new', params: { kind: 'users' } });
  expect(find('users/7')).toEqual({ value: ':kind/:id', params: { kind: 'users', id: '7' } });
  expect(find('orders/7/items')).toEqual({ value: 'orders/:id/items', params: { id: '7' } });
  // The literal leads nowhere here, so the parameter counts.
  expect(find('orders/7/other')).toEqual({
    value: ':kind/:id/:part',
    params: { kind: 'orders', id: '7', part: 'other' },
  });
  expect(find('orders')).toEqual({ value: 'orders', params: {} });
  for (const none of ['', 'users', 'orders/', 'orders/7/items/1', 'Orders', 'constructor'])
    expect(find(none), none).toBeUndefined();
});

test('of paths that match, the one that takes the method is found, and else the one that would be found without it', () => {
  const endpoints = createEndpoints([
    { path: 'a/:x', method: 'POST', value: 'post' },
    { path: 'a/:y', method: 'GET', value: 'get' },
    { path: ':z/b', method: 'ANY', value: 'any' },
    { path: 'a/b', method: 'PUT', value: 'put' },
  ]);
  const find = (method: string, path: string) => endpoints.find(path.split('/'), method);
  expect(find('POST', 'a/1')).toEqual({ value: 'post', params: { x: '1' } });
  expect(find('GET', 'a/1')).toEqual({ value: 'get', params: { y: '1' } });
  expect(find('HEAD', 'a/1')).toEqual({ value: 'get', params: { y: '1' } });
  expect(find('DELETE', 'a/1')).toEqual({ value: 'post', params: { x: '1' } });
  expect(find('PUT', 'a/b')).toEqual({ value: 'put', params: {} });
  expect(find('POST', 'a/b')).toEqual({ value: 'post', params: { x: 'b' } });
  expect(find('DELETE', 'a/b')).toEqual({ value: 'any', params: { z: 'a' } });
  expect(find('OPTIONS', 'a/b')).toEqual({ value: 'put', params: {} });
});
