/** The typed client of Gantry: REST by the names of its operations, runs as they go on, and the messages of sockets as types. */
export type { Answer, CallOptions, Input, Item, ListName, OperationName } from './calls.ts';
export { GantryError } from './errors.ts';
export type { ClientEvents, components as EventComponents, ServerEvents } from './events.ts';
export { createGantry, type Gantry, type GantryOptions } from './gantry.ts';
export { operations } from './operations.ts';
export type { components, operations as Operations, paths } from './rest.ts';
export type { Run, RunEvent, WatchedRun } from './runs.ts';
