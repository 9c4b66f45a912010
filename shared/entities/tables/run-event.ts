import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p } from '../base.ts';

/** One visible change of a run, in order of `seq`. Written by the engine in SQL; read under a run already found. */
export const RunEventSchema = defineEntity({
  name: 'RunEvent',
  tableName: 'run_event',
  properties: {
    instanceID: p.uuid().primary(),
    seq: p.bigint('number').primary(),
    /** Null: the event is about the run itself. */
    nodeID: p.text().nullable(),
    iteration: p.integer(),
    attempt: p.integer(),
    status: p.string(),
    exit: p.text().nullable(),
    payload: p.json().$type<JsonObject>().nullable(),
    createdAt: p.datetime(),
  },
});

export class RunEvent extends RunEventSchema.class {}
RunEventSchema.setClass(RunEvent);
