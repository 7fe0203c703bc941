import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApi } from './api.ts';
import type { Api } from './api.ts';
import type { Binaries } from './binaries.ts';
import { createComponent } from './component.ts';
import type { Component } from './component.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { createAuthority, createSigningKey, issueLeaf } from './pki.ts';
import type { KeyPair } from './pki.ts';
import { freePorts } from './ports.ts';

export interface ControlPlaneOptions {
  run: string;
  dir: string;
  binaries: Binaries;
  /** IPv4 range for ClusterIPs. */
  serviceCidr: string;
  /** Let etcd wait for the disk. Default false: a test's data need not survive a power cut. */
  fsync?: boolean;
  /** How long a node may be silent before it is NotReady, seconds. Default 8. */
  nodeMonitorGraceSeconds?: number;
  /** More flags, `--name=value`; they come last and so win. */
  apiServerFlags?: readonly string[];
  controllerManagerFlags?: readonly string[];
  schedulerFlags?: readonly string[];
}

/** What a client of etcd needs; certificates and key as PEM. */
export interface EtcdAccess {
  url: string;
  ca: string;
  cert: string;
  key: string;
}

/** The running etcd, API server, controller manager and scheduler. */
export interface ControlPlane {
  readonly server: string;
  /** The cluster's authority, PEM certificate and key. */
  readonly ca: KeyPair;
  readonly apiServer: Component;
  readonly etcd: Component;
  /** Direct access to etcd, without the API server. */
  readonly etcdAccess: EtcdAccess;
  readonly controllerManager: Component;
  readonly scheduler: Component;
  /** A client with the rights of cluster-admin. */
  readonly api: Api;
  readonly adminKubeconfig: string;
  /** Resolves when /readyz says ok. Errors: a server ended, or `timeoutMs` passed; quotes the last log lines. */
  waitReady(timeoutMs?: number): Promise<void>;
  /** A client certificate for any user and groups. */
  credentials(user: string, groups: readonly string[]): Promise<KeyPair>;
  stop(): Promise<void>;
}

/** Starts etcd and the API server, waits until it is ready, then starts the controller manager and the scheduler. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const files = join(options.dir, 'control-plane');
  mkdirSync(files, { recursive: true });
  const [etcdPort = 0, peerPort = 0, apiPort = 0, managerPort = 0, schedulerPort = 0] = await freePorts(5);
  const write = (name: string, text: string): string => {
    writeFileSync(join(files, name), text, { mode: 0o600 });
    return join(files, name);
  };
  const writePair = (name: string, pair: KeyPair): { cert: string; key: string } => ({
    cert: write(`${name}.crt`, pair.cert),
    key: write(`${name}.key`, pair.key),
  });
  const component = (name: keyof Binaries, flags: readonly string[]): Component =>
    createComponent({
      name,
      run: options.run,
      command: [options.binaries[name], ...flags],
      logFile: join(options.dir, `${name}.log`),
    });

  const ca = await createAuthority('svc-cluster-ca');
  const frontProxyCa = await createAuthority('svc-front-proxy-ca');
  const etcdCa = await createAuthority('svc-etcd-ca');
  const caFile = write('ca.crt', ca.cert);
  const frontProxyCaFile = write('front-proxy-ca.crt', frontProxyCa.cert);
  const etcdCaFile = write('etcd-ca.crt', etcdCa.cert);
  const loopback = ['localhost', '127.0.0.1'];
  const etcdServer = writePair('etcd', await issueLeaf(etcdCa, { commonName: 'etcd', names: loopback }));
  const etcdClientPair = await issueLeaf(etcdCa, { commonName: 'kube-apiserver' });
  const etcdClient = writePair('etcd-client', etcdClientPair);
  const serviceIp = `${options.serviceCidr.split('/')[0]?.split('.').slice(0, 3).join('.') ?? ''}.1`;
  const serverNames = [
    ...loopback,
    serviceIp,
    ...['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'],
  ];
  const serving = writePair('apiserver', await issueLeaf(ca, { commonName: 'kube-apiserver', names: serverNames }));
  const kubelet = writePair(
    'apiserver-kubelet-client',
    await issueLeaf(ca, { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] }),
  );
  const frontProxy = writePair(
    'front-proxy-client',
    await issueLeaf(frontProxyCa, { commonName: 'front-proxy-client' }),
  );
  const signing = createSigningKey();
  const signingKey = write('service-account.key', signing.privateKey);
  const signingPublicKey = write('service-account.pub', signing.publicKey);

  const server = `https://127.0.0.1:${apiPort}`;
  const kubeconfig = (name: string, pair: KeyPair): string => {
    const path = join(options.dir, `${name}.kubeconfig`);
    writeKubeconfig(path, { server, ca: ca.cert, user: pair });
    return path;
  };
  const admin = await issueLeaf(ca, { commonName: 'svc-admin', organizations: ['system:masters'] });
  const adminKubeconfig = kubeconfig('admin', admin);
  const managerKubeconfig = kubeconfig(
    'controller-manager',
    await issueLeaf(ca, { commonName: 'system:kube-controller-manager' }),
  );
  const schedulerKubeconfig = kubeconfig('scheduler', await issueLeaf(ca, { commonName: 'system:kube-scheduler' }));

  const etcdUrl = `https://127.0.0.1:${etcdPort}`;
  const etcd = component('etcd', [
    `--data-dir=${join(options.dir, 'etcd')}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--cert-file=${etcdServer.cert}`,
    `--key-file=${etcdServer.key}`,
    `--trusted-ca-file=${etcdCaFile}`,
    '--client-cert-auth',
    '--logger=zap',
    '--log-level=warn',
    ...(options.fsync ? [] : ['--unsafe-no-fsync']),
  ]);
  const apiServer = component('kube-apiserver', [
    '--bind-address=127.0.0.1',
    `--secure-port=${apiPort}`,
    '--advertise-address=127.0.0.1',
    // The `kubernetes` Service cannot have endpoints on a loopback address: each attempt to write them would be an
    // error.
    '--endpoint-reconciler-type=none',
    `--etcd-servers=${etcdUrl}`,
    `--etcd-cafile=${etcdCaFile}`,
    `--etcd-certfile=${etcdClient.cert}`,
    `--etcd-keyfile=${etcdClient.key}`,
    `--client-ca-file=${caFile}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--service-cluster-ip-range=${options.serviceCidr}`,
    `--service-account-key-file=${signingPublicKey}`,
    `--service-account-signing-key-file=${signingKey}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    `--kubelet-certificate-authority=${caFile}`,
    `--kubelet-client-certificate=${kubelet.cert}`,
    `--kubelet-client-key=${kubelet.key}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--requestheader-client-ca-file=${frontProxyCaFile}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${frontProxy.cert}`,
    `--proxy-client-key-file=${frontProxy.key}`,
    '--enable-aggregator-routing=true',
    '--profiling=false',
    ...(options.apiServerFlags ?? []),
  ]);
  const controllerManager = component('kube-controller-manager', [
    `--kubeconfig=${managerKubeconfig}`,
    `--authentication-kubeconfig=${managerKubeconfig}`,
    `--authorization-kubeconfig=${managerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${managerPort}`,
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${signingKey}`,
    `--root-ca-file=${caFile}`,
    '--node-monitor-period=1s',
    `--node-monitor-grace-period=${options.nodeMonitorGraceSeconds ?? 8}s`,
    '--allocate-node-cidrs=false',
    // Each controller fetches its own token at the start: the default rate makes that take seconds.
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    '--profiling=false',
    ...(options.controllerManagerFlags ?? []),
  ]);
  const scheduler = component('kube-scheduler', [
    `--kubeconfig=${schedulerKubeconfig}`,
    `--authentication-kubeconfig=${schedulerKubeconfig}`,
    `--authorization-kubeconfig=${schedulerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${schedulerPort}`,
    '--leader-elect=false',
    '--profiling=false',
    ...(options.schedulerFlags ?? []),
  ]);

  const api = createApi({ server, ca: ca.cert, cert: admin.cert, key: admin.key });
  const waitReady = async (check: string, timeoutMs = 60_000): Promise<void> => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      try {
        await api.request('GET', check, undefined, { raw: true, timeoutMs: 2000 });
        return;
      } catch (cause) {
        const dead = [etcd, apiServer].find((c) => !c.running);
        if (dead) throw new Error(`${dead.name} ended:\n${dead.logTail()}`, { cause });
        if (Date.now() > deadline) {
          throw new Error(`the API server is not ready after ${timeoutMs} ms:\n${apiServer.logTail()}`, { cause });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const all = [scheduler, controllerManager, apiServer, etcd];
  const stop = async (): Promise<void> => {
    api.close();
    await Promise.all(all.map((c) => c.kill()));
  };
  etcd.start();
  apiServer.start();
  try {
    // Before the bootstrap roles exist, the other programs would be refused and end. Other start hooks do not matter.
    await waitReady('/readyz/poststarthook/rbac/bootstrap-roles');
    controllerManager.start();
    scheduler.start();
    await waitReady('/readyz');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    server,
    ca,
    apiServer,
    etcd,
    etcdAccess: { url: etcdUrl, ca: etcdCa.cert, ...etcdClientPair },
    controllerManager,
    scheduler,
    api,
    adminKubeconfig,
    waitReady: (timeoutMs) => waitReady('/readyz', timeoutMs),
    credentials: (user, groups) => issueLeaf(ca, { commonName: user, organizations: groups }),
    stop,
  };
}
