import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it reads no such table. */
export class Migration20261129090000_SignIn extends Migration {
  override up(): void {
    // `valid_after`: seconds since 1970. A sign-in of an earlier time has ended.
    this.addSql(`
create table sign_in_account (
  id uuid primary key,
  email text not null unique,
  password_hash text,
  valid_after bigint not null default 0,
  totp_secret text,
  totp_step bigint,
  is_disabled boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql(`
create table sign_in_recovery_code (
  account_id uuid not null references sign_in_account(id) on delete cascade,
  code_hash bytea not null,
  primary key (account_id, code_hash)
)`);
    this.addSql(`
create table sign_in_passkey (
  id uuid primary key,
  account_id uuid not null references sign_in_account(id) on delete cascade,
  credential_id text not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
)`);
    this.addSql('create index sign_in_passkey_account on sign_in_passkey (account_id)');
    // Without an account: the first invitation, whose reader says who they are.
    this.addSql(`
create table sign_in_link (
  token_hash bytea primary key,
  account_id uuid references sign_in_account(id) on delete cascade,
  purpose text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
)`);
    this.addSql('create index sign_in_link_account on sign_in_link (account_id)');
    this.addSql('create index sign_in_link_expires on sign_in_link (expires_at)');
    // Records of the provider: sessions, codes, tokens. Ids are bearer credentials, so only their SHA-256 is stored.
    this.addSql(`
create table sign_in_record (
  kind text not null,
  id bytea not null,
  payload text not null,
  account_id uuid,
  grant_id text,
  uid text,
  session_uid text,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (kind, id)
)`);
    this.addSql('create index sign_in_record_account on sign_in_record (account_id) where account_id is not null');
    this.addSql('create index sign_in_record_grant on sign_in_record (grant_id) where grant_id is not null');
    this.addSql('create index sign_in_record_uid on sign_in_record (uid) where uid is not null');
    this.addSql('create index sign_in_record_expires on sign_in_record (expires_at)');
    this.addSql(`
create table sign_in_key (
  id uuid primary key,
  purpose text not null,
  secret text not null,
  created_at timestamptz not null default now()
)`);
    this.addSql(`
create table sign_in_audit (
  id uuid primary key,
  account_id uuid,
  action text not null,
  ip_address text,
  network text,
  user_agent text,
  created_at timestamptz not null default now()
)`);
    this.addSql('create index sign_in_audit_account on sign_in_audit (account_id, created_at)');
    this.addSql('create index sign_in_audit_created on sign_in_audit (created_at)');
  }
}
