import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows none of these tables. */
export class Migration20261123083000_AI extends Migration {
  override up(): void {
    this.addSql(`
create table ai_config (
  id uuid primary key,
  tenant_id uuid not null unique references tenant(id) deferrable initially deferred,
  provider varchar(32),
  base_url text,
  model varchar(255),
  api_key text,
  max_tokens_per_day integer,
  max_tokens_per_month integer,
  max_calls integer,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now(),
  check ((provider is null) = (model is null)),
  check (provider is not null or (base_url is null and api_key is null))
)`);
    // A reservation until \`ended_at\`; its tokens are then in \`ai_usage\`.
    this.addSql(`
create table ai_call (
  id uuid primary key,
  tenant_id uuid not null,
  day date not null,
  user_id uuid,
  api_key_id uuid,
  purpose varchar(16) not null,
  model varchar(255) not null,
  reserved_tokens integer not null,
  input_tokens integer,
  output_tokens integer,
  outcome varchar(32),
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
)`);
    this.addSql('create index on ai_call (tenant_id, day) where ended_at is null');
    this.addSql('create index on ai_call (started_at)');
    this.addSql('create index on ai_call (tenant_id)');
    this.addSql(`
create table ai_usage (
  tenant_id uuid not null,
  day date not null,
  calls integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, day)
)`);
    this.addSql('create index on ai_usage (updated_at)');
  }
}
