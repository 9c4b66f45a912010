import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: what it begins has no caller in its row, and gets no tools. */
export class Migration20261123184000_AIToolCalls extends Migration {
  override up(): void {
    // `message_id` null: the id of the answer. `call_id`: of the step under way, in the budget; it is the worker's fence.
    this.addSql(`
alter table ai_answer
  add column caller text,
  add column place text,
  add column tools text,
  add column message_id varchar(128),
  add column from_part integer not null default 0,
  add column step integer not null default 0,
  add column restarts integer not null default 0,
  add column call_id uuid,
  add column claimed_until timestamptz,
  add column is_unwanted boolean not null default false`);
    this.addSql(
      `create index ai_answer_open on ai_answer (status, alive_until) where status in ('calling', 'waiting', 'streaming')`,
    );
    // Calls of one turn are done one after the other. A turn is an answer of a chat, or one visit of a node.
    this.addSql(`
create table ai_tool_call (
  id uuid primary key,
  tenant_id uuid not null,
  session_id uuid references ai_session(id) on delete cascade,
  turn_id uuid not null,
  number integer not null,
  tool varchar(128) not null,
  input text not null,
  input_digest varchar(64) not null,
  caller text not null,
  provider_metadata text,
  is_granted boolean not null default false,
  status varchar(16) not null default 'ready',
  output text,
  reason text,
  decided_by uuid,
  decided_at timestamptz,
  attempts integer not null default 0,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  ended_at timestamptz
)`);
    this.addSql('create index on ai_tool_call (tenant_id)');
    this.addSql('create index on ai_tool_call (session_id) where session_id is not null');
    this.addSql('create index on ai_tool_call (turn_id, number)');
    this.addSql('create index on ai_tool_call (created_at)');
    this.addSql(`create index ai_tool_call_open on ai_tool_call (created_at) where status = 'ready'`);
  }
}
