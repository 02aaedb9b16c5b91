package sharespec.recorder;

import java.util.List;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;

/**
 * A method of SharePartition that is woven: how it is recognised, its advice if it has one, and the
 * calls in it that are noticed.
 *
 * <p>A name that ends with $ is the begin of one: the compiler numbers what it makes of a lambda.
 */
record Hook(String name, List<String> parameters, Class<?> advice, boolean deadLetters, CallSite... sites) {
    static final List<Hook> ALL = List.of(
        new Hook("acquire", "String,ShareAcquireMode,int,int,long,FetchPartitionData,FetchIsolation",
            Advices.OfAcquire.class, CallSite.UNLOCK),
        new Hook("acknowledge", "String,List", Advices.OfAcknowledge.class, CallSite.UNLOCK),
        new Hook("releaseAcquiredRecords", "String", Advices.OfRelease.class, CallSite.UNLOCK),
        new Hook("updateCacheAndOffsets", "long", Advices.OfLogStart.class, CallSite.UNLOCK),
        new Hook("maybeInitialize", "", Advices.OfInitialization.class, CallSite.AWAIT),
        new Hook("lambda$maybeInitialize$", "CompletableFuture,ReadShareGroupStateResult,Throwable", null,
            CallSite.UNLOCK),
        new Hook("rollbackOrProcessStateUpdates", "CompletableFuture,Throwable,List",
            Advices.OfStateUpdates.class, CallSite.UNLOCK, CallSite.AWAIT),
        new Hook("lambda$rollbackOrProcessStateUpdates$", "List,CompletableFuture,Void,Throwable", null,
            CallSite.UNLOCK),
        new Hook("lambda$releaseAcquisitionLockOnTimeout$", "String,long,long,TimerTask",
            Advices.OfExpiry.class, CallSite.UNLOCK, CallSite.AWAIT),
        new Hook("maybeUpdateCachedStateAndOffsets", "", null, CallSite.UNLOCK),
        new Hook("writeShareGroupState", "List", null, CallSite.NUMBERS, CallSite.WRITE),
        new Hook("maybeFilterAbortedTransactionalAcquiredRecords",
            "FetchPartitionData,FetchIsolation,ShareAcquiredRecords", Advices.OfFilter.class),
        new Hook("fetchAbortedTransactionRecordBatches", "Iterable,List", Advices.OfAborted.class),
        new Hook("initiateDLQAndArchive", "Runnable,long,long,short,Throwable", Advices.OfDeadLetters.class, true,
            CallSite.AWAIT),
        new Hook("lambda$initiateDLQAndArchive$", "Runnable,long,long,short,Void,Throwable", null, true,
            CallSite.UNLOCK, CallSite.AWAIT),
        new Hook("lambda$initiateDLQAndArchive$", "PersisterStateBatch,Void,Throwable", null, true,
            CallSite.UNLOCK));

    private Hook(String name, String parameters, Class<?> advice, boolean deadLetters, CallSite... sites) {
        this(name, parameters.isEmpty() ? List.of() : List.of(parameters.split(",")), advice, deadLetters, sites);
    }

    private Hook(String name, String parameters, Class<?> advice, CallSite... sites) {
        this(name, parameters, advice, false, sites);
    }

    boolean matches(MethodDescription method) {
        String actual = method.getInternalName();
        return (name.endsWith("$") ? actual.startsWith(name) : actual.equals(name)) && !method.isStatic()
            && parameters.equals(method.getParameters().asTypeList().asErasures().stream()
                .map(TypeDescription::getSimpleName).toList());
    }

    @Override
    public String toString() {
        return name + "(" + String.join(",", parameters) + ")";
    }
}
