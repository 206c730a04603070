"""Bytes that sqlite3 writes for each byte updated, in a file and in a store: rows, transactions, rows a transaction changes, transactions to warm up."""
import os, random, shutil, subprocess, sys, tempfile
EXT=os.path.abspath('target/release/libfrostline_sqlite')
def run(name,openline,pragmas,rows,txs,per,warm):
    d=tempfile.mkdtemp(); os.chdir(d)
    p=subprocess.Popen(['sqlite3','-batch','-init','/dev/null'],stdin=subprocess.PIPE,stdout=subprocess.PIPE,text=True,bufsize=1)
    def tell(s): p.stdin.write(s+'\n')
    def mark(m):
        tell('.print '+m); p.stdin.flush()
        while p.stdout.readline().strip()!=m: pass
    def io():
        os.sync()
        return int([l for l in open(f'/proc/{p.pid}/io') if l.startswith('write_bytes')][0].split()[1])
    tell('.load '+EXT); tell(".open '"+openline+"'"); tell(pragmas)
    tell('create table t(k integer primary key, v blob);')
    tell(f'with recursive c(x) as (select 0 union all select x+1 from c where x<{rows}-1) insert into t select x, randomblob(120) from c;')
    mark('loaded')
    r=random.Random(1); 
    def go(n):
        for i in range(n):
            ks=','.join(str(int(rows*r.random()**4)*7919%rows) for _ in range(per))
            tell(f'update t set v=randomblob(120) where k in ({ks});')
        mark('done%d'%r.randrange(10**9))
    go(warm); a=io(); go(txs); b=io()
    tell('.quit'); p.wait()
    size=sum(os.stat(os.path.join(x,f)).st_blocks*512 for x,_,fs in os.walk(d) for f in fs)
    shutil.rmtree(d, ignore_errors=True)
    print(f'{name}: {(b-a)/(txs*per*128):.1f} bytes a byte updated; space {size/1e6:.0f} MB',flush=True)
rows,txs,per,warm=[int(x) for x in sys.argv[1:5]]
c='pragma cache_size=-8000;'
F='file:my.db?vfs=frostline&store=DIR&size=1GiB'
run('file delete','my.db',c,rows,txs,per,warm)
run('file wal full','my.db',c+'pragma journal_mode=wal;pragma synchronous=full;',rows,txs,per,warm)
run('file wal normal','my.db',c+'pragma journal_mode=wal;pragma synchronous=normal;',rows,txs,per,warm)
off='pragma synchronous=off;'
run('frostline delete',F,c,rows,txs,per,warm)
run('frostline off sync',F,c+off,rows,txs,per,warm)
run('frostline wal',F,c+'pragma journal_mode=wal;',rows,txs,per,warm)
for gp in ['0.5','0.15']:
    run('frostline gp '+gp,F+'&gp='+gp,c,rows,txs,per,warm)
    run('frostline off sync gp '+gp,F+'&gp='+gp,c+off,rows,txs,per,warm)
run('frostline several classes',F+'&scheme=sepbit',c,rows,txs,per,warm)
run('frostline whole pages',F+'&unit=4096',c,rows,txs,per,warm)
