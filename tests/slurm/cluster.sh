#!/bin/bash
# A SLURM cluster of one node on this machine, without systemd: munged, slurmctld and slurmd with their files in FOLDER.
#
#   tests/slurm/cluster.sh install          Debian's packages, if they are missing
#   tests/slurm/cluster.sh start FOLDER     prints the line that makes squeue, sbatch ... talk to it
#   tests/slurm/cluster.sh restart FOLDER   kills slurmd and starts another one, as after a crash of the node
#   tests/slurm/cluster.sh stop FOLDER
#
# It ends only what it has started: the processes whose numbers are in FOLDER.
set -eu
PATH=$PATH:/usr/sbin:/sbin
action=${1:?install, start, restart or stop}

if [ "$action" = install ]; then
    command -v slurmctld >/dev/null && command -v munged >/dev/null && exit 0
    test "$(id -u)" = 0 || { echo "cluster.sh: as root, install slurm-wlm and munge" >&2; exit 1; }
    apt-get update -qq
    apt-get -o DPkg::Lock::Timeout=300 install -qq -y --no-install-recommends slurm-wlm munge >/dev/null
    exit 0
fi

mkdir -p "${2:?the folder of the cluster}"
folder=$(cd "$2" && pwd)
host=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf

ended() {  # wait until the process whose number is in FOLDER/$1.pid is gone; kill it if that takes long
    test -s "$folder/$1.pid" || return 0
    number=$(cat "$folder/$1.pid")
    kill "${2:--TERM}" "$number" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$number" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$number" 2>/dev/null || true
    rm -f "$folder/$1.pid"
}

configure() {
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
    chmod 700 "$folder/munge"
    test -s "$folder/munge/key" || dd if=/dev/urandom of="$folder/munge/key" bs=128 count=8 status=none
    chmod 600 "$folder/munge/key"
    # An expired credential is what a requeued job waits for: two minutes by default.
    cat >"$SLURM_CONF" <<END
ClusterName=unweave
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${UNWEAVE_SLURM_PORT:-16817}
SlurmdPort=$((${UNWEAVE_SLURM_PORT:-16817} + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=10
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=8000
PartitionName=cpu Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
}

node_is_up() {
    for _ in $(seq 300); do
        case "$(sinfo -h -o %t 2>/dev/null)" in idle | mix | alloc | drain | drng) return 0 ;; esac
        sleep 0.1
    done
    echo "cluster.sh: the node does not come up; see $folder/slurmctld.log and slurmd.log" >&2
    return 1
}

case "$action" in
start)
    configure
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munged.pid" \
        --log-file="$folder/munged.log" --seed-file="$folder/munge/seed"
    slurmctld -c
    slurmd -N "$host"
    node_is_up
    echo "export SLURM_CONF=$SLURM_CONF"
    ;;
restart)
    ended slurmd -KILL
    slurmd -N "$host"
    node_is_up
    ;;
stop)
    scancel --user="$(id -un)" 2>/dev/null || true
    for _ in $(seq 200); do  # until the processes of the jobs have ended
        test -n "$(squeue -h 2>/dev/null)" || break
        sleep 0.1
    done
    ended slurmd
    ended slurmctld
    ended munged
    ;;
*)
    echo "cluster.sh: install, start, restart or stop, not $action" >&2
    exit 2
    ;;
esac
