import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: only new tables. */
export class Migration20261121130000_Operators extends Migration {
  override up(): void {
    this.addSql(`
create table operator (
  id uuid primary key,
  email varchar(255) not null unique check (email = lower(email)),
  operator_title varchar(255),
  password_hash text not null,
  password_version integer not null default 1,
  is_disabled boolean not null default false,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql(`
create table operator_session (
  id uuid primary key,
  operator_id uuid not null references operator(id),
  token_hash bytea not null unique check (length(token_hash) = 32),
  ip_address text not null,
  network text not null,
  user_agent text,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  created_at timestamptz(3) not null default now()
)`);
    this.addSql('create index on operator_session (operator_id, network)');
    this.addSql('create index on operator_session (expires_at)');
    this.addSql(`
create table operator_audit (
  id uuid primary key,
  operator_id uuid,
  session_id uuid,
  action varchar(32) not null,
  method varchar(16),
  path text,
  status integer,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null default now()
)`);
    this.addSql('create index on operator_audit (created_at)');
    this.addSql('create index on operator_audit (operator_id, created_at)');
    // A crash may lose the counts. The columns are those of rate-limiter-flexible.
    this.addSql(`
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
)`);
    this.addSql('create index on rate_limit (expire)');
  }
}
