import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows none of these tables. */
export class Migration20261123092000_AIChat extends Migration {
  override up(): void {
    // Of a user or of an API key, which is the owner.
    this.addSql(`
create table ai_session (
  id uuid primary key,
  tenant_id uuid not null,
  owner_id uuid not null,
  user_id uuid,
  chat_id varchar(128) not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, owner_id, chat_id)
)`);
    this.addSql('create index on ai_session (updated_at)');
    // Texts of JSON, which may hold what jsonb refuses.
    this.addSql(`
create table ai_message (
  session_id uuid not null references ai_session(id) on delete cascade,
  number integer not null,
  tenant_id uuid not null,
  role varchar(16) not null,
  message_id varchar(128) not null,
  parts text not null,
  created_at timestamptz not null default now(),
  primary key (session_id, number)
)`);
    this.addSql('create index on ai_message (tenant_id)');
    // Ended when it is no more \`waiting\` or \`streaming\`.
    this.addSql(`
create table ai_answer (
  id uuid primary key,
  session_id uuid not null references ai_session(id) on delete cascade,
  tenant_id uuid not null,
  status varchar(16) not null default 'waiting',
  is_resumable boolean not null,
  error text,
  alive_until timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz
)`);
    this.addSql('create index on ai_answer (session_id)');
    this.addSql('create index on ai_answer (tenant_id)');
    this.addSql(`
create table ai_chunk (
  answer_id uuid not null references ai_answer(id) on delete cascade,
  number integer not null,
  tenant_id uuid not null,
  chunks text not null,
  primary key (answer_id, number)
)`);
    this.addSql('create index on ai_chunk (tenant_id)');
  }
}
